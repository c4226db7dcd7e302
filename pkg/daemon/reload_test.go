package daemon

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/config"
	"sidestep/pkg/engine"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// reloading lets a daemon load what next makes of its config.
func (w *world) reloading(next func(*config.Config) error) func(*Options) {
	return func(o *Options) {
		o.Load = func() (*config.Config, error) {
			copied := *w.config
			if err := next(&copied); err != nil {
				return nil, err
			}
			return &copied, nil
		}
	}
}

// A good config comes into force: what is new is probed and known by its name,
// and counters of what is the same go on.
func TestReloadKeepsCounters(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		const c = "192.0.2.30"
		d := w.run(w.reloading(func(next *config.Config) error {
			next.Warnings = []config.Warning{{}}
			next.Records = append(next.Records[:1:1], &steer.Spec{
				Key:    record.Key{Zone: home, Name: "new.example.com.", Type: record.A},
				Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep, Checks: []string{"web"},
				Answers: []steer.Answer{{Value: a, Probe: a}, {Value: c, Probe: c}},
			})
			return nil
		}))
		time.Sleep(settled)
		passes := d.status().Targets[0].Passes
		if err := d.Reload(); err != nil {
			t.Fatal(err)
		}
		s := d.status()
		if s.Targets[0].Verdict != "up" || s.Targets[0].Passes < passes || len(s.Targets) != 3 {
			t.Errorf("after the reload: %+v", s.Targets)
		}
		if _, err := d.Status(t.Context(), "new"); err != nil {
			t.Errorf("the new name: %v", err)
		}
		if _, err := d.Status(t.Context(), "old"); err == nil {
			t.Error("a name that is nowhere is known")
		}
		time.Sleep(settled)
		if s := d.status(); s.Targets[2].Verdict != "up" {
			t.Errorf("the new target is not probed: %+v", s.Targets[2])
		}
		if len(w.log.with("WARN config")) != 1 {
			t.Error("the warnings of the new config are not in the log")
		}
	})
}

// A bad config keeps the one before, and status says why until a good one came.
func TestReloadOfABadConfigKeepsTheOneBefore(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		bad := errors.New("sidestep.yaml:7: unknown key \"chekcs\"")
		d := w.run(w.reloading(func(*config.Config) error { return bad }))
		time.Sleep(settled)
		if err := d.Reload(); !errors.Is(err, bad) {
			t.Errorf("got %v", err)
		}
		s := d.status()
		if !strings.Contains(s.Config.Error, "chekcs") || len(s.Notices) != 1 || len(s.Targets) != 2 {
			t.Errorf("status: %+v", s)
		}
		if c := s.Config; c.Refused == nil || !c.Refused.Equal(time.Now()) || c.Refused.Sub(c.Loaded) != settled {
			t.Errorf("status says of the config: %+v", c)
		}
		w.site.fail(a)
		time.Sleep(settled)
		w.mustLive(b)
		bad = nil
		if err := d.Reload(); err != nil {
			t.Error(err)
		}
		if s := d.status(); s.Config.Error != "" || s.Config.Refused != nil || !s.Config.Loaded.Equal(time.Now()) || len(s.Notices) > 0 {
			t.Errorf("after a good one: %+v", s)
		}
		if err := (&running{Daemon: d.Daemon, w: w}).without().Reload(); err == nil {
			t.Error("reloaded without a way to load")
		}
	})
}

// without is a daemon that cannot load, for a look at its answer.
func (r *running) without() *Daemon {
	options := r.w.options()
	options.Write = false
	d, err := New(options)
	if err != nil {
		r.w.Fatal(err)
	}
	close(d.stopped) // its loop never ran
	return d
}

// What only a start can change is refused by its name, and nothing else is.
func TestNeedsRestart(t *testing.T) {
	base := func() *config.Config {
		return &config.Config{
			Node: config.Node{Name: "mon-1"}, State: config.State{Dir: "/state", MaxAge: time.Minute},
			Control:   config.Control{Socket: "/socket"},
			Leader:    config.Leader{Lock: config.LockFile},
			Reconcile: config.Reconcile{Debounce: time.Second, RetryBase: time.Second, RetryMax: time.Minute},
			Zones: []config.Zone{{
				Name: home, Provider: "memory", Verify: config.Verify{Servers: []string{"ns1:53"}, DNS: true},
				Settings: provider.Settings{Options: map[string]string{"server": "ns"}, Secrets: map[string]provider.Secret{"key": provider.NewSecret("x")}},
			}, {Name: "example.org."}},
		}
	}
	for want, changes := range map[string][]func(*config.Config){
		"": {
			func(*config.Config) {},
			func(c *config.Config) { c.Reconcile.Debounce = 0 },
			func(c *config.Config) { c.State.MaxAge = 0 },
			func(c *config.Config) { c.Guard.MaxChanges = 7 },
			func(c *config.Config) { c.Checks = map[string]*check.Spec{"new": {}} },
			func(c *config.Config) { c.Zones[0].Position.Line = 9 },
			func(c *config.Config) { c.Zones[0].Settings.Secrets["key"] = provider.NewSecret("y") },
			func(c *config.Config) { c.Zones[0].Settings.Options["profile"] = "other" },
			func(c *config.Config) { c.Zones[0].Settings.Insecure = true },
			func(c *config.Config) { c.Zones[0].Settings.Late, c.Zones[0].Settings.Lag = time.Hour, time.Hour },
			func(c *config.Config) { c.Zones[0].Settings.Variants = []string{"telecom"} },
			func(c *config.Config) { c.Zones[0].Verify.DNS = false },
			func(c *config.Config) { c.Zones[0].Verify.Servers = nil },
			func(c *config.Config) { slices.Reverse(c.Zones) },
		},
		"node changed":                       {func(c *config.Config) { c.Node.Name = "mon-2" }},
		"state.dir changed":                  {func(c *config.Config) { c.State.Dir = "/other" }},
		"control.socket changed":             {func(c *config.Config) { c.Control.Socket = "/other" }},
		"leader changed":                     {func(c *config.Config) { c.Leader.Lock = config.LockNone }},
		"reconcile.retry changed":            {func(c *config.Config) { c.Reconcile.RetryMax = time.Hour }, func(c *config.Config) { c.Reconcile.RetryBase = 0 }},
		"zone example.com: provider changed": {func(c *config.Config) { c.Zones[0].Provider = "other" }},
		"zone example.com: server changed":   {func(c *config.Config) { c.Zones[0].Settings.Options["server"] = "ns2" }},
		"zone example.com: zone_id changed":  {func(c *config.Config) { c.Zones[0].Settings.Options["zone_id"] = "7" }},
		"zone example.org removed":           {func(c *config.Config) { c.Zones = c.Zones[:1] }},
		"zone example.net added":             {func(c *config.Config) { c.Zones = append(c.Zones, config.Zone{Name: "example.net."}) }},
		"node changed, zone example.com: endpoint and server changed": {func(c *config.Config) {
			c.Node.Vantage = "elsewhere"
			c.Zones[0].Settings.Options = map[string]string{"endpoint": "https://api.example.net", "region": "x"}
		}},
		"zone example.com removed, zone example.net added": {func(c *config.Config) { c.Zones[0].Name = "example.net." }},
	} {
		for i, change := range changes {
			next := base()
			change(next)
			if got := strings.Join(needsRestart(base(), next), ", "); got != want {
				t.Errorf("change %d of %q: got %q", i, want, got)
			}
		}
	}
}

func TestReloadThatNeedsARestartIsRefused(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run(w.reloading(func(next *config.Config) error { next.State.Dir = "/elsewhere"; return nil }))
		synctest.Wait()
		if err := d.Reload(); err == nil || !strings.Contains(err.Error(), "state.dir changed: that takes a restart") {
			t.Errorf("got %v", err)
		}
		d.end()
		if err := d.Reload(); err == nil {
			t.Error("reloaded after the end")
		}
	})
}

// lagging is an adapter whose lists lag as its config says.
type lagging struct {
	provider.Fencer

	lag time.Duration
}

func (l lagging) Promises() provider.Promises {
	p := l.Fencer.Promises()
	p.Lag = l.lag
	return p
}

// Another lag is taken up with the times of the lease that follow from it, and refused
// where the lease would not be safe by it. Times of the lease themselves take a restart.
func TestReloadTakesUpALagWithTheLease(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, _ := pair(t)
		lag := 2 * time.Second
		d := w.run(w.reloading(func(next *config.Config) error {
			next.Zones = slices.Clone(next.Zones)
			next.Zones[0].Settings.Lag = lag
			return nil
		}), func(o *Options) {
			inner := o.Registry["memory"]
			o.Registry = provider.Registry{"memory": func(s provider.Settings) (provider.Adapter, error) {
				adapter, err := inner(s)
				return lagging{adapter.(provider.Fencer), max(s.Lag, time.Second)}, err
			}}
		})
		time.Sleep(settled)
		d.ask(func(*engine.Engine) {
			next, err := d.options.Load()
			if err != nil {
				t.Fatal(err)
			}
			if zones, err := d.renewed(next); err != nil || len(zones) != 1 || zones[0].Lease.Lag != lag || zones[0].Lease.Takeover == 0 {
				t.Errorf("got %+v (%v)", zones, err)
			}
		})
		if err := d.Reload(); err != nil {
			t.Error(err)
		}
		lag = 40 * time.Second
		if err := d.Reload(); err == nil || !strings.Contains(err.Error(), "leader.heartbeat: 30s is too short") {
			t.Errorf("got %v", err)
		}
	})
}

// A record set that the config names no longer stays as it is in the zone, and
// the log says so.
func TestCase91DroppedSetStaysAndIsSaid(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run(w.reloading(func(next *config.Config) error {
			spec := *next.Records[0]
			spec.Answers = spec.Answers[:1]
			next.Records = []*steer.Spec{&spec}
			return nil
		}))
		time.Sleep(settled)
		writes, live := len(w.zones[home].History()), w.zones[home].Live(w.config.Records[0].Key)
		if err := d.Reload(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(settled)
		if n := len(w.zones[home].History()) - writes; n != 0 || len(w.zones[home].Live(w.config.Records[0].Key)) != len(live) {
			t.Errorf("%d writes because a value left the config", n)
		}
		if said := w.log.with("no longer steered"); len(said) == 0 || !strings.Contains(said[0], b) {
			t.Errorf("the log says %q", said)
		}
	})
}

// A check that asks something else now begins anew, for the targets of the record
// set that it belongs to; all others go on.
func TestCase90ChangedCheckBeginsAnew(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		other := *w.config.Checks["web"]
		other.Name, other.TCP = "ssh", &check.TCP{Port: 22}
		w.config.Checks["ssh"] = &other
		w.addSet(&steer.Spec{
			Key: record.Key{Zone: home, Name: "git.example.com.", Type: record.A}, Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep,
		}, a)
		w.config.Records[1].Checks = []string{"ssh"}
		d := w.run(w.reloading(func(next *config.Config) error {
			changed := other
			changed.TCP = &check.TCP{Port: 2222}
			next.Checks = map[string]*check.Spec{"web": w.config.Checks["web"], "ssh": &changed}
			return nil
		}))
		time.Sleep(settled)
		before := len(w.writes(home))
		if err := d.Reload(); err != nil {
			t.Fatal(err)
		}
		for _, target := range d.status().Targets {
			if fresh := target.Check == "ssh"; fresh != (target.Verdict == "unknown" && target.Passes == 0) || !fresh && target.Verdict != "up" {
				t.Errorf("after the reload: %+v", target)
			}
		}
		time.Sleep(settled)
		for _, target := range d.status().Targets {
			if target.Verdict != "up" {
				t.Errorf("a minute later: %+v", target)
			}
		}
		if n := len(w.writes(home)) - before; n > 0 {
			t.Errorf("%d writes because a check changed", n)
		}
	})
}
