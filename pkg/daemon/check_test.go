package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/clock"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/lease"
	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/reconcile"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// checked is a config of two checks on loopback addresses, of which the first
// answers at the first address only.
func checked(t *testing.T) *config.Config {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	port := netip.MustParseAddrPort(listener.Addr().String()).Port()
	spec := func(name string) *check.Spec {
		return &check.Spec{Name: name, Kind: check.KindTCP, TCP: &check.TCP{Port: port}, Interval: 10 * time.Second, Timeout: 5 * time.Second, Fall: 1, Rise: 1}
	}
	set := func(name record.Name, check string, values ...string) *steer.Spec {
		s := &steer.Spec{Key: record.Key{Zone: home, Name: name, Type: record.A}, Policy: steer.All, Checks: []string{check}}
		for _, value := range values {
			s.Answers = append(s.Answers, steer.Answer{Value: value, Probe: value})
		}
		return s
	}
	return &config.Config{
		Zones:   []config.Zone{{Name: home, Provider: "memory"}},
		Checks:  map[string]*check.Spec{"web": spec("web"), "ssh": spec("ssh")},
		Records: []*steer.Spec{set("www.example.com.", "web", "127.0.0.1", "127.0.0.2"), set("api.example.com.", "ssh", "127.0.0.1")},
	}
}

// One round of probes, of everything or of what was named: by check, address,
// target or record set.
func TestCheckProbesWhatIsNamed(t *testing.T) {
	c := checked(t)
	for names, want := range map[string][]string{
		"":                  {"ssh@127.0.0.1 pass", "web@127.0.0.1 pass", "web@127.0.0.2 fail"},
		"web":               {"web@127.0.0.1 pass", "web@127.0.0.2 fail"},
		"127.0.0.1":         {"ssh@127.0.0.1 pass", "web@127.0.0.1 pass"},
		"web@127.0.0.2":     {"web@127.0.0.2 fail"},
		"www":               {"web@127.0.0.1 pass", "web@127.0.0.2 fail"},
		"API.example.com.":  {"ssh@127.0.0.1 pass"},
		"ssh web@127.0.0.2": {"ssh@127.0.0.1 pass", "web@127.0.0.2 fail"},
	} {
		results, canary, err := Check(t.Context(), c, strings.Fields(names), slog.New(slog.DiscardHandler))
		if err != nil || canary != nil {
			t.Errorf("%q: %v, canary %+v", names, err, canary)
		}
		var got []string
		for _, r := range results {
			got = append(got, r.Target.ID()+" "+string(r.Outcome))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", names, got, want)
		}
	}
	if _, _, err := Check(t.Context(), c, []string{"web", "nosuch"}, slog.New(slog.DiscardHandler)); control.ExitOf(err) != control.ExitUsage || !strings.Contains(err.Error(), `"nosuch"`) {
		t.Errorf("a name of nothing: %v", err)
	}
}

// The canary is probed in the same round, and says how many of it answered.
func TestCheckProbesTheCanary(t *testing.T) {
	c := checked(t)
	for _, address := range []string{"127.0.0.1", "127.0.0.2"} {
		spec := *c.Checks["web"]
		spec.Name = address
		c.Canary.Targets = append(c.Canary.Targets, config.CanaryTarget{Spec: &spec, Address: address})
	}
	for need, want := range map[int]string{1: "pass", 2: "fail"} {
		c.Canary.Need = need
		results, canary, err := Check(t.Context(), c, []string{"api"}, slog.New(slog.DiscardHandler))
		if err != nil || len(results) != 1 {
			t.Fatalf("%+v, %v", results, err)
		}
		if canary.State != want || canary.Answered != 1 || canary.Need != need || len(canary.Targets) != 2 || canary.Targets[1].Cause != "refused" {
			t.Errorf("of %d needed: got %+v", need, canary)
		}
	}
}

// What each zone can promise is told without asking the provider, and with
// asking whether it can be listed.
func TestValidate(t *testing.T) {
	zones := map[memory.Class]*memory.Zone{}
	c := &config.Config{}
	for _, class := range memory.Classes() {
		name := record.Name(string(class) + ".example.")
		zones[class] = memory.NewZone(name, memory.Options{Class: class, Late: time.Minute, Now: clock.System().Boot})
		c.Zones = append(c.Zones, config.Zone{Name: name, Provider: "memory", Settings: provider.Settings{Zone: name}})
	}
	var asked atomic.Int64
	zones[memory.Whole].Faults(func(memory.Op, int) memory.Fault {
		asked.Add(1)
		return memory.Fault{Kind: memory.Refused}
	})
	registry := provider.Registry{"memory": func(s provider.Settings) (provider.Adapter, error) {
		class, _, _ := strings.Cut(string(s.Zone), ".")
		return zones[memory.Class(class)].Adapter("mon-1"), nil
	}}
	validate := func(online bool) []ZoneValidity {
		list, err := Validate(t.Context(), c, registry, slog.New(slog.DiscardHandler))
		if online {
			list, err = ValidateOnline(t.Context(), c, nil, registry, func(string, ...any) {}, slog.New(slog.DiscardHandler))
		}
		if err != nil || len(list) != len(c.Zones) {
			t.Fatalf("%d zones (%v)", len(list), err)
		}
		return list
	}
	words := map[string]string{
		"status.example.":        "a value is paused by the provider's own status; writes are not atomic",
		"rename.example.":        "a value is paused by renaming its record; writes are atomic and fenced",
		"exact.example.":         "parking a readable copy in a TXT record, which is public; writes are atomic and fenced",
		"prerequisites.example.": "writes are atomic and fenced",
		"whole.example.":         "writes are atomic; not fenced: after a start nothing is taken away for 1m0s",
		"append.example.":        "not fenced",
	}
	for _, z := range validate(false) {
		if !strings.Contains(z.Words, words[z.Zone]) || z.Provider != "memory" || z.Pause == "" || z.Error != "" {
			t.Errorf("offline: %+v", z)
		}
	}
	if asked.Load() > 0 {
		t.Error("asked the provider without being told to")
	}
	for _, z := range validate(true) {
		if (z.Error != "") != (z.Zone == "whole.example.") {
			t.Errorf("online: %+v", z)
		}
	}
	c.Zones[0].Provider = "nosuch"
	if _, err := Validate(t.Context(), c, registry, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a provider that is not there")
	}
}

// The exit code of one zone follows from its error, its guards and what is left.
func TestExitOfAReport(t *testing.T) {
	refused := provider.Failf(provider.Permanent, "list", "", "no")
	change := plan.Plan{Sets: []plan.Set{{Changes: []plan.Change{{}}}}}
	stopped := plan.Plan{Blocked: []plan.Blocked{{Guard: plan.GuardAdopt}}}
	for name, row := range map[string]struct {
		report reconcile.Report
		wrote  bool
		want   int
	}{
		"in sync":              {reconcile.Report{}, true, control.ExitDone},
		"planned":              {reconcile.Report{Final: change}, false, control.ExitDone},
		"left":                 {reconcile.Report{Final: change}, true, control.ExitFailure},
		"a guard":              {reconcile.Report{Final: stopped}, true, control.ExitGuard},
		"a guard, planned":     {reconcile.Report{Final: stopped}, false, control.ExitGuard},
		"waited in vain":       {reconcile.Report{Err: context.DeadlineExceeded}, true, control.ExitFailure},
		"a provider":           {reconcile.Report{Err: refused}, true, control.ExitProvider},
		"one of many":          {reconcile.Report{Err: errors.Join(errors.New("x"), refused)}, true, control.ExitProvider},
		"two writers":          {reconcile.Report{Err: &reconcile.TwoWritersError{}}, true, control.ExitNotLeader},
		"the lock is held":     {reconcile.Report{Err: &lease.HeldError{}}, true, control.ExitNotLeader},
		"not the leader":       {reconcile.Report{Err: fmt.Errorf("gate: %w", reconcile.ErrNotLeader)}, true, control.ExitNotLeader},
		"an error comes first": {reconcile.Report{Err: refused, Final: stopped}, true, control.ExitProvider},
	} {
		if got := exitOf(row.report, row.wrote); got != row.want {
			t.Errorf("%s: %d, want %d", name, got, row.want)
		}
	}
}
