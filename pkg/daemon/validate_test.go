package daemon

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// inspected is an adapter whose API says something of the credential.
type inspected struct {
	provider.Adapter

	lines []string
	err   error
}

func (i inspected) Inspect(context.Context) ([]string, error) { return i.lines, i.err }

// TestValidateAsksSideBySide: zones of a silent API cost one deadline, however
// many there are, and the others are told of all the same.
func TestValidateAsksSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &config.Config{}
		adapters := map[record.Name]provider.Adapter{}
		add := func(name record.Name, wrap func(provider.Adapter) provider.Adapter, fault memory.Kind) {
			zone := memory.NewZone(name, memory.Options{Class: memory.Rename, Call: 10 * time.Second})
			zone.Faults(func(memory.Op, int) memory.Fault { return memory.Fault{Kind: fault} })
			adapters[name] = wrap(zone.Adapter("mon-1"))
			c.Zones = append(c.Zones, config.Zone{Name: name, Provider: "memory", Settings: provider.Settings{Zone: name}})
		}
		plain := func(a provider.Adapter) provider.Adapter { return a }
		add("silent.example.", plain, memory.Hang)
		add("mute.example.", plain, memory.Hang)
		add("good.example.", func(a provider.Adapter) provider.Adapter {
			return inspected{a, []string{"token: active"}, nil}
		}, memory.None)
		add("expired.example.", func(a provider.Adapter) provider.Adapter {
			return inspected{a, nil, &provider.Error{Class: provider.Permanent, Op: "verify token", Code: "1000", Hint: "make a new one"}}
		}, memory.None)
		registry := provider.Registry{"memory": func(s provider.Settings) (provider.Adapter, error) { return adapters[s.Zone], nil }}
		var told []string
		began := time.Now()
		zones, err := ValidateOnline(t.Context(), c, nil, registry, func(format string, _ ...any) { told = append(told, format) }, slog.New(slog.DiscardHandler))
		if took := time.Since(began); err != nil || took != 10*time.Second {
			t.Errorf("%v after %s, want 10s", err, took)
		}
		for i, want := range []string{"deadline", "deadline", "", "make a new one"} {
			if got := zones[i].Error; !strings.Contains(got, want) || (got == "") != (want == "") {
				t.Errorf("%s: error %q, want %q", zones[i].Zone, got, want)
			}
		}
		if !slices.Equal(zones[2].Inspected, []string{"token: active"}) {
			t.Errorf("inspected %q", zones[2].Inspected)
		}
		if len(told) == 0 {
			t.Error("nobody at a terminal was told how far it is")
		}
	})
}

// TestValidateTellsOfWhatCannotBePaused: the provider would refuse the pause of a live
// value that the config names.
func TestValidateTellsOfWhatCannotBePaused(t *testing.T) {
	key := record.Key{Zone: "example.com.", Name: "www.example.com.", Type: record.A}
	spec := &steer.Spec{Key: key, Answers: []steer.Answer{{Value: "192.0.2.1"}, {Value: "192.0.2.2"}}}
	set := record.Set{Key: key, Answers: []record.Answer{{Value: "192.0.2.1", Live: true, Stuck: "its remark is too long"}, {Value: "192.0.2.2", Live: true}}}
	var v ZoneValidity
	v.look(&config.Config{}, spec, &provider.Snapshot{Zone: "example.com.", Sets: []record.Set{set}})
	if want := "www.example.com. A 192.0.2.1 cannot be paused, so that it stays in the answer when it is down: its remark is too long"; len(v.Notes) != 1 || v.Notes[0] != want {
		t.Errorf("got %q", v.Notes)
	}
}

// TestValidateTellsOfWhatCannotBeSwitched: in the place of a record set there is
// an alias.
func TestValidateTellsOfWhatCannotBeSwitched(t *testing.T) {
	spec := &steer.Spec{Key: record.Key{Zone: "example.com.", Name: "www.example.com.", Type: record.A}}
	var v ZoneValidity
	v.look(&config.Config{}, spec, &provider.Snapshot{Zone: "example.com.", Fixed: []provider.Fixed{{Key: spec.Key, What: "an alias of lb.example.net."}}})
	if len(v.Notes) != 1 || !strings.Contains(v.Notes[0], "www.example.com. A is an alias of lb.example.net.") || v.Found != 0 {
		t.Errorf("got %q", v.Notes)
	}
}
