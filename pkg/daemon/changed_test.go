package daemon

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/config"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

func TestReloadSaysWhatChanged(t *testing.T) {
	newConfig := func() *config.Config {
		return &config.Config{
			File:   "a.yaml",
			Checks: map[string]*check.Spec{"web": {Name: "web", Kind: check.KindTCP, TCP: &check.TCP{Port: 80}, Interval: time.Second}},
			Records: []*steer.Spec{{
				Key: record.Key{Zone: home, Name: "www.example.com.", Type: record.A}, Answers: []steer.Answer{{Value: a, Probe: a}},
			}},
		}
	}
	for want, change := range map[string]func(*config.Config){
		"nothing":                               func(c *config.Config) { c.File, c.Warnings = "b.yaml", []config.Warning{{}} },
		"check web changed":                     func(c *config.Config) { c.Checks["web"].Fall = 2 },
		"check api added":                       func(c *config.Config) { c.Checks["api"] = &check.Spec{} },
		"check web removed":                     func(c *config.Config) { clear(c.Checks) },
		"record set www.example.com. A changed": func(c *config.Config) { c.Records[0].Answers[0].Probe = b },
		"record set www.example.com. A removed": func(c *config.Config) { c.Records = nil },
		"guard changed, canary changed":         func(c *config.Config) { c.Guard.MaxChanges, c.Canary.Need = 1, 1 },
	} {
		next := newConfig()
		change(next)
		got := strings.Split(changedBy(newConfig(), next), ", ")
		if all := strings.Split(want, ", "); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(all))) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	many := newConfig()
	for i := range 7 {
		many.Checks[fmt.Sprint("c", i)] = &check.Spec{}
	}
	if got := changedBy(newConfig(), many); !strings.HasPrefix(got, "check c0 added, ") || !strings.HasSuffix(got, "check c4 added, 2 more checks added") {
		t.Errorf("got %q", got)
	}
}

// What a reload changed is in its line of the log.
func TestReloadLogsWhatChanged(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run(w.reloading(func(next *config.Config) error {
			next.Checks = maps.Clone(next.Checks)
			web := *next.Checks["web"]
			web.Fall++
			next.Checks["web"] = &web
			return nil
		}))
		if err := d.Reload(); err != nil {
			t.Fatal(err)
		}
		if lines := w.log.with("INFO reloaded"); len(lines) != 1 || !strings.Contains(lines[0], "check web changed") {
			t.Errorf("got %q", lines)
		}
	})
}
