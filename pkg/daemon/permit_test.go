package daemon

import (
	"errors"
	"strings"
	"testing"

	"sidestep/pkg/check"
	"sidestep/pkg/config"
)

func TestUnpermitted(t *testing.T) {
	c := &config.Config{
		Checks:  map[string]*check.Spec{"web": {Kind: check.KindTCP}, "ping": {Kind: check.KindICMP}, "also": {Kind: check.KindICMP}},
		Sources: config.Sources{Checks: map[string]config.Position{"also": {File: "sidestep.yaml", Line: 7, Column: 3}}},
	}
	refused := func(name string) error {
		if c.Checks[name].Kind == check.KindICMP {
			return errors.New("no permission")
		}
		return nil
	}
	got := unpermitted(c, refused)
	if want := "sidestep.yaml:7:3: checks.also, checks.ping: no permission; until then"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want it to begin with %q", got, want)
	}
	if got := unpermitted(c, func(string) error { return nil }); got != "" {
		t.Errorf("got %q where all is permitted", got)
	}
	delete(c.Checks, "ping")
	delete(c.Checks, "also")
	if got := Unpermitted(c); got != "" {
		t.Errorf("TCP needs no permission, got %q", got)
	}
}
