package daemon

import (
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/config"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
)

// TestCase68OneBudgetForEachCredential makes the adapters of three zones, of
// which two are of one account: what that account may be asked is one budget,
// and validate tells how large.
func TestCase68OneBudgetForEachCredential(t *testing.T) {
	c := &config.Config{}
	for name, token := range map[record.Name]string{"one.example.": "a", "two.example.": "a", "other.example.": "b"} {
		c.Zones = append(c.Zones, config.Zone{Name: name, Provider: "cloudflare", Settings: provider.Settings{
			Zone: name, Secrets: map[string]provider.Secret{"api_token": provider.NewSecret(token)},
		}})
	}
	got := map[record.Name]*provider.Limiter{}
	registry := provider.Registry{"cloudflare": func(s provider.Settings) (provider.Adapter, error) {
		got[s.Zone] = s.Limiter
		return memory.NewZone(s.Zone, memory.Options{Class: memory.Rename, Now: clock.System().Boot}).Adapter("mon-1"), nil
	}}
	zones, err := Validate(t.Context(), c, registry, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if got["one.example."] == nil || got["one.example."] != got["two.example."] || got["one.example."] == got["other.example."] {
		t.Errorf("the limiters are %v", got)
	}
	for _, z := range zones {
		if want := "of one credential, at most 3 calls a second, 60 at once after a quiet time, 20 of them kept for writes"; !strings.Contains(z.Words, want) {
			t.Errorf("%s does not say %q", z.Words, want)
		}
	}
}

// A zone whose API is out of order says for how long, and when it is asked next;
// the log tells of it once and then by powers of two, and of its return.
func TestStatusTellsOfAnAPIThatIsOutOfOrder(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		before := len(w.log.with(""))
		var broken atomic.Bool
		broken.Store(true)
		w.zones[home].Faults(func(memory.Op, int) memory.Fault {
			if broken.Load() {
				return memory.Fault{Kind: memory.Throttled}
			}
			return memory.Fault{}
		})
		w.site.fail(a)
		time.Sleep(10 * time.Minute)
		text := d.status().Zones[0].Error
		var failures int
		_, after, _ := strings.Cut(text, "the API failed ")
		if n, err := fmt.Sscanf(after, "%d times in a row, next try at ", &failures); n != 1 && err == nil || failures < 10 {
			t.Errorf("status says %q", text)
		}
		_, at, _ := strings.Cut(text, "next try at ")
		if next, err := time.Parse(time.RFC3339, at); err != nil || next.Sub(w.clock.Wall()) > 31*time.Second {
			t.Errorf("status says the next try is at %q (%v), now is %s", at, err, w.clock.Wall())
		}
		if lines := w.log.with("")[before:]; len(lines) > 30 {
			t.Errorf("%d lines in ten minutes", len(lines))
		}
		broken.Store(false)
		time.Sleep(settled)
		w.mustLive(b)
		if text := d.status().Zones[0].Error; text != "" {
			t.Errorf("status says %q", text)
		}
		if len(w.log.with("can list the zone again")) != 1 {
			t.Errorf("the log has not told of the return: %v", w.log.with("")[before:])
		}
	})
}
