package daemon

import (
	"log/slog"
	"strings"
	"testing"

	"sidestep/pkg/control"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// TestTheAdapterHasTheLastWord: a record set that the zone cannot hold is refused
// before anything is probed, as an error of the config.
func TestTheAdapterHasTheLastWord(t *testing.T) {
	for name, change := range map[string]func(*steer.Spec){
		"needs weights": func(s *steer.Spec) { s.Policy = steer.Weighted },
		"no variants":   func(s *steer.Spec) { s.Key.Variant = "telecom" },
	} {
		for _, class := range []memory.Class{memory.Exact, memory.Status} {
			bubbled(t, func(t *testing.T) {
				w := newWorld(t, memory.Options{Class: class})
				change(w.config.Records[0])
				_, err := New(w.options())
				refused := err != nil && strings.Contains(err.Error(), name) && control.ExitOf(err) == control.ExitUsage
				if refused != (class == memory.Exact) {
					t.Errorf("%s, class %s: got %v", name, class, err)
				}
			})
		}
	}
}

// TestAliasNeedsAWriteInPlace: where nothing is switched in place, a CNAME is
// refused before its name could be left without an answer.
func TestAliasNeedsAWriteInPlace(t *testing.T) {
	for _, class := range []memory.Class{memory.Exact, memory.Append} {
		bubbled(t, func(t *testing.T) {
			w := newWorld(t, memory.Options{Class: class})
			w.config.Records[0].Key.Type = record.CNAME
			_, err := New(w.options())
			if refused := err != nil && strings.Contains(err.Error(), "cannot switch a CNAME in place"); refused != (class == memory.Append) {
				t.Errorf("class %s: got %v", class, err)
			}
		})
	}
}

// TestExposedAddresses: validate says whose addresses for disasters can be read
// in the zone.
func TestExposedAddresses(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, memory.Options{Class: memory.Exact})
		w.config.Records[0].DR = steer.DR{IfNone: true, Answers: []steer.Answer{{Value: "198.51.100.40", Probe: "198.51.100.40", Mode: steer.Reserve}}}
		zones, err := Validate(t.Context(), w.config, w.options().Registry, slog.New(slog.DiscardHandler))
		if err != nil || !strings.Contains(zones[0].Words, "for disasters of www.example.com.") {
			t.Errorf("got %+v, %v", zones, err)
		}
		w.config.Records[0].DR = steer.DR{}
		if zones, _ := Validate(t.Context(), w.config, w.options().Registry, slog.New(slog.DiscardHandler)); strings.Contains(zones[0].Words, "disasters") {
			t.Errorf("got %+v", zones)
		}
	})
}
