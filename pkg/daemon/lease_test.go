package daemon

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
)

// Where the lease is between nodes with a directory each, a standby keeps what it
// is told, and a second process on its directory says who holds that.
func TestStandbyWithADirectoryOfItsOwn(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		l := &lostLease{won: make(chan struct{}, 1)} // mon-2 has it
		r := w.runUnder(l)
		if s := r.status().Leader; s.State != "standby" || s.Holder != "mon-2" {
			t.Errorf("status says %+v", s)
		}
		word := control.OverrideRequest{Kind: "drain", Target: a, Reason: "maintenance", For: "1h"}
		if _, err := r.Override(t.Context(), word, "ops"); err != nil {
			t.Errorf("a standby keeps no override: %v", err)
		}
		if n := len(w.saved().Payload.Overrides); n != 1 {
			t.Errorf("%d overrides are saved", n)
		}
		other := w.runUnder(l)
		if s := other.status().Leader; s.State != "standby" || !strings.HasPrefix(s.Holder, "mon-1 (process") || !strings.Contains(s.Detail, filepath.Base(w.config.State.Dir)) {
			t.Errorf("the second process says %+v", s)
		}
		if _, err := other.Override(t.Context(), word, "ops"); control.ExitOf(err) != control.ExitNotLeader {
			t.Errorf("and keeps what it is told: %v", err)
		}
		if w.touched() {
			t.Error("written without a lease")
		}
		l.won <- struct{}{}
		time.Sleep(settled)
		if s := r.status().Leader; s.State != "leader" {
			t.Errorf("with the lease status says %+v", s)
		}
		w.mustLive(b)
	})
}

// pair is two worlds with one zone, and a lock in it.
func pair(t *testing.T) (first, second *world) {
	t.Helper()
	first = newWorld(t, memory.Options{Class: memory.Rename, Lag: time.Second})
	first.config.Leader = config.Leader{Lock: config.LockZone}
	other := *first
	cfg := *first.config
	cfg.Node.Name, cfg.State.Dir = "mon-2", filepath.Join(memoryDir(t), "state")
	other.config, other.log = &cfg, &logBook{}
	return first, &other
}

// leading is a pair of which the first leads, and the second stands by.
func leading(t *testing.T, change ...func(*Options)) (w, v *world, first, second *running) {
	t.Helper()
	w, v = pair(t)
	first = w.run(change...)
	time.Sleep(settled)
	second = v.run()
	time.Sleep(settled)
	return w, v, first, second
}

// TestCase79LeaderOfAZoneIsCutOff has two nodes with a lock in the zone: one leads,
// the other stands by, shows what it would write, keeps what it is told, and takes
// over when the first can reach the provider no more; that one says so in time.
func TestCase79LeaderOfAZoneIsCutOff(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		var cut atomic.Bool
		w, _, first, second := leading(t, func(o *Options) { o.Registry = cutOff(o.Registry, &cut) })
		s := first.status()
		if l := s.Zones[0].Leader; s.Leader.State != "leader" || s.Leader.Until == nil || l == nil || l.State != "leader" || l.Holder != "mon-1" {
			t.Errorf("the first says %+v, %+v", s.Leader, s.Zones[0].Leader)
		}
		s = second.status()
		if l := s.Zones[0].Leader; s.Leader.State != "standby" || s.Leader.Holder != "mon-1" || l == nil || l.State != "standby" || l.Holder != "mon-1" || s.Zones[0].Error != "" {
			t.Errorf("the second says %+v, %+v, %q", s.Leader, s.Zones[0].Leader, s.Zones[0].Error)
		}
		cut.Store(true)
		w.site.fail(a)
		time.Sleep(settled)
		if plan, err := second.Plan(t.Context(), control.PlanRequest{}); err != nil || len(plan.Zones[0].Changes) != 2 {
			t.Errorf("plan at the standby: %+v (%v)", plan, err)
		}
		if notices := strings.Join(first.status().Notices, "; "); !strings.Contains(notices, "the stamp, which says who leads, cannot be looked at") {
			t.Errorf("the first, which still leads, says %q", notices)
		}
		answer, err := second.Reconcile(t.Context(), control.PlanRequest{})
		if err != nil || answer.Zones[0].Exit != control.ExitNotLeader || !strings.Contains(answer.Zones[0].Error, "it is held by mon-1 (its stamp is ") {
			t.Errorf("reconcile at the standby: %+v (%v)", answer, err)
		}
		w.mustLive(a)
		time.Sleep(150*time.Second - settled)
		w.mustLive(b)
		if s := second.status().Leader; s.State != "leader" {
			t.Errorf("the second says %+v", s)
		}
		if s := first.status().Leader; s.State == "leader" {
			t.Errorf("the first still says %+v", s)
		}
		cut.Store(false)
		time.Sleep(time.Minute)
		if s := first.status().Leader; s.State != "standby" || s.Holder != "mon-2" {
			t.Errorf("the first says %+v", s)
		}
		if n := len(w.log.with("ERROR no longer the leader")); n != 1 {
			t.Errorf("%d lines tell of the loss", n)
		}
		if n := len(w.journal("leader")); n != 4 {
			t.Errorf("%d lines of the journal, want won, lost, none while it saw nobody, and led", n)
		}
	})
}

// cutOff makes adapters that reach nothing while cut is true.
func cutOff(registry provider.Registry, cut *atomic.Bool) provider.Registry {
	return provider.Registry{"memory": func(s provider.Settings) (provider.Adapter, error) {
		adapter, err := registry["memory"](s)
		return severed{adapter.(provider.Fencer), cut}, err
	}}
}

type severed struct {
	provider.Fencer

	cut *atomic.Bool
}

func (s severed) err() error {
	if s.cut.Load() {
		return provider.Failf(provider.Retryable, "reach the provider", "", "no route to host")
	}
	return nil
}

func (s severed) List(ctx context.Context) (*provider.Snapshot, error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	return s.Fencer.List(ctx)
}

func (s severed) Claim(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.Fencer.Claim(ctx, seen, next, gate)
}

// An orderly end lets go of the zone, and the next look of a standby takes it.
func TestReleasedZoneIsTakenAtTheNextLook(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, v, first, second := leading(t)
		first.end()
		if first.err != nil {
			t.Error(first.err)
		}
		time.Sleep(12 * time.Second)
		if s := second.status().Leader; s.State != "leader" || s.Holder != "mon-2" {
			t.Errorf("the second says %+v", s)
		}
		v.site.fail(a)
		time.Sleep(settled)
		w.mustLive(b)
	})
}

// A command without a daemon takes a stamp that is free, says whose it is when it is
// fresh, takes it over when told to, and when it stood still for long.
func TestCommandUnderALockInTheZone(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, v := pair(t)
		reconcile := func(takeOver bool) (control.Plan, error) {
			options := v.options()
			options.Once = true
			d, err := New(options)
			if err != nil {
				t.Fatal(err)
			}
			return d.Once(t.Context(), control.PlanRequest{TakeOver: takeOver}, func(string, ...any) {})
		}
		v.site.fail(a)
		if answer, err := reconcile(false); err != nil || answer.Zones[0].Exit != control.ExitDone {
			t.Errorf("a free zone: %+v (%v)", answer, err)
		}
		w.mustLive(b)
		v.site.heal(a)
		first := w.run()
		time.Sleep(settled)
		v.site.fail(b)
		answer, err := reconcile(false)
		if err != nil || answer.Zones[0].Exit != control.ExitNotLeader || !strings.Contains(answer.Zones[0].Error, "held by mon-1 (its stamp is ") ||
			!strings.Contains(answer.Zones[0].Error, "it leads, and renews its stamp every 30s: say it there") || strings.Contains(answer.Zones[0].Error, "--take-over") {
			t.Errorf("a zone that is led: %+v (%v)", answer, err)
		}
		first.kill()
		time.Sleep(50 * time.Second) // longer than a heartbeat takes
		if answer, err := reconcile(false); err != nil || answer.Zones[0].Exit != control.ExitNotLeader || !strings.Contains(answer.Zones[0].Error, "at once: sidestep reconcile --take-over") {
			t.Errorf("a zone whose leader is silent: %+v (%v)", answer, err)
		}
		if answer, err := reconcile(true); err != nil || answer.Zones[0].Exit != control.ExitDone {
			t.Errorf("with --take-over: %+v (%v)", answer, err)
		}
		again := w.run()
		time.Sleep(settled)
		again.kill()
		time.Sleep(10 * time.Minute)
		v.site.heal(b)
		v.site.fail(a)
		began := time.Now()
		if answer, err := reconcile(false); err != nil || answer.Zones[0].Exit != control.ExitDone {
			t.Errorf("a stamp of long ago: %+v (%v)", answer, err)
		}
		if took := time.Since(began); took < 30*time.Second || took > 2*time.Minute {
			t.Errorf("it took %s to see that nobody renews the stamp", took)
		}
		w.mustLive(b)
	})
}

// An operator's word without a daemon is kept, and claims no zone.
func TestWordUnderALockInTheZoneClaimsNothing(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, _ := pair(t)
		options := w.options()
		options.Once = true
		d, err := New(options)
		if err != nil {
			t.Fatal(err)
		}
		word := control.OverrideRequest{Kind: "drain", Target: a, Reason: "maintenance", For: "1h"}
		if _, err := d.OverrideOnce(t.Context(), word, "ops", func(string, ...any) {}); err != nil {
			t.Fatal(err)
		}
		if n := len(w.saved().Payload.Overrides); n != 1 || w.touched() {
			t.Errorf("%d overrides are saved, the zone was touched: %v", n, w.touched())
		}
	})
}

// A stamp that this version cannot read is named, and nothing is written.
func TestStampOfAnotherVersionStopsWriting(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, _ := pair(t)
		if err := w.zones[home].EditByHand(memory.Put("_sidestep.example.com.", "TXT", time.Minute, "v=9 lord=mon-7")); err != nil {
			t.Fatal(err)
		}
		d := w.run()
		w.site.fail(a)
		time.Sleep(time.Hour)
		if w.touched() {
			t.Error("written")
		}
		if lines := w.log.with("ERROR cannot write the zone"); len(lines) != 1 || !strings.Contains(lines[0], "v=9 lord=mon-7") {
			t.Errorf("the log says %q", w.log.with("ERROR"))
		}
		if s := d.status(); s.Leader.State != "none" || !strings.Contains(s.Leader.Detail, "v=9 lord=mon-7") || !strings.Contains(s.Leader.Detail, "_sidestep.example.com.") {
			t.Errorf("status says %+v", s.Leader)
		}
	})
}

// Where the provider does not compare, a lock in the zone is refused; and so are
// times by which a leader that lives would be taken over.
func TestLockInTheZoneIsRefused(t *testing.T) {
	for what, row := range map[string]struct {
		class  memory.Class
		leader config.Leader
		want   string
	}{
		"not fenced":  {memory.Status, config.Leader{Lock: config.LockZone}, "leader.lock: the stamp in zone example.com. cannot be the lock"},
		"too soon":    {memory.Exact, config.Leader{Lock: config.LockZone, Takeover: time.Minute}, "leader.takeover: 60s is too short"},
		"a slow beat": {memory.Exact, config.Leader{Lock: config.LockZone, Heartbeat: time.Minute}, "use 194s or more"},
	} {
		w := newWorld(t, memory.Options{Class: row.class})
		w.config.Leader = row.leader
		_, err := New(w.options())
		if control.ExitOf(err) != control.ExitUsage || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// Two nodes of one name are told apart by what they wrote: one of them leads, and the
// other says what it is about.
func TestTwoNodesOfOneName(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, v := pair(t)
		v.config.Node.Name = "mon-1"
		w.run()
		time.Sleep(settled)
		second := v.run()
		time.Sleep(settled)
		if s := second.status().Leader; s.State != "standby" || !strings.Contains(s.Detail, "another process of this node's own name, mon-1") {
			t.Errorf("the second says %+v", s)
		}
	})
}

// A person at the standby takes the zone over, also when nothing is to be written;
// the one who led stands by from its next heartbeat on.
func TestPersonTakesAZoneOver(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		_, _, first, second := leading(t)
		answer, err := second.Reconcile(t.Context(), control.PlanRequest{TakeOver: true})
		if err != nil || answer.Zones[0].Exit != control.ExitDone {
			t.Errorf("got %+v (%v)", answer, err)
		}
		if s := second.status().Leader; s.State != "leader" {
			t.Errorf("the second says %+v", s)
		}
		time.Sleep(31 * time.Second)
		if s := first.status().Leader; s.State != "standby" || s.Holder != "mon-2" {
			t.Errorf("the first says %+v", s)
		}
		time.Sleep(10 * time.Minute)
		if s := second.status().Leader; s.State != "leader" {
			t.Errorf("ten minutes later the second says %+v", s)
		}
	})
}

// By default the stamp is renewed more rarely where each write makes the name servers
// transfer the zone; what the config says holds everywhere.
func TestTimesOfALockInTheZone(t *testing.T) {
	promises := provider.Promises{Lag: time.Second, Call: 15 * time.Second}
	for name, want := range map[string][3]time.Duration{
		"cloudflare": {30 * time.Second, 2 * time.Minute, 10 * time.Second},
		"route53":    {30 * time.Second, 2 * time.Minute, 10 * time.Second},
		"rfc2136":    {time.Minute, 4 * time.Minute, 10 * time.Second},
	} {
		got := leaseOf(config.Leader{Lock: config.LockZone}, name, promises)
		if [3]time.Duration{got.Heartbeat, got.Takeover, got.Poll} != want || got.Lag != promises.Lag || got.Check() != nil {
			t.Errorf("%s: %+v (%v)", name, got, got.Check())
		}
		said := leaseOf(config.Leader{Lock: config.LockZone, Heartbeat: 5 * time.Second, Takeover: time.Minute, Poll: time.Second}, name, promises)
		if said.Heartbeat != 5*time.Second || said.Takeover != time.Minute || said.Poll != time.Second {
			t.Errorf("%s: the config's %+v", name, said)
		}
	}
	if got := leaseOf(config.Leader{Lock: config.LockFile}, "cloudflare", promises); got.Takeover != 0 {
		t.Errorf("with a lock file: %+v", got)
	}
}

// While another node runs, a zone is released for no longer than until its next
// look: it is named before anything is written, and after it took the zone again.
func TestReleaseBesideANodeThatRuns(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, v := pair(t)
		second := v.run()
		v.site.fail(a)
		time.Sleep(settled)
		v.mustLive(b)
		release := func(takeOver bool) Release {
			t.Helper()
			d, progress, _ := w.once(true)
			answer, err := d.ReleaseOnce(t.Context(), string(home), nil, takeOver, progress)
			if err != nil {
				t.Fatal(err)
			}
			return answer
		}
		d, progress, _ := w.once(false)
		if shown, err := d.ReleasePlan(t.Context(), string(home), progress); err != nil || shown.Rival != "mon-2" {
			t.Errorf("the plan names %q (%v)", shown.Rival, err)
		}
		if r := release(false); r.Exit != control.ExitNotLeader || len(r.Applied) > 0 ||
			!strings.Contains(r.Error, "it is led by mon-2") || !strings.Contains(r.Error, "stop sidestep there first") || !strings.Contains(r.Error, "sidestep release "+home.Unrooted()+" --take-over") {
			t.Errorf("without --take-over: %+v", r)
		}
		if r := release(true); r.Released || r.Exit != control.ExitNotLeader || !strings.Contains(r.Error, "node mon-2 has taken the zone again") {
			t.Errorf("with --take-over: %+v", r)
		}
		second.end()
		if r := release(true); !r.Released || r.Exit != control.ExitDone || r.Rival != "" {
			t.Errorf("after its end: %+v", r)
		}
		w.mustLive(a, b)
	})
}

// A take-over is told, also where there is nothing to write.
func TestTakeOverIsTold(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		_, _, _, second := leading(t)
		answer, err := second.Reconcile(t.Context(), control.PlanRequest{TakeOver: true})
		if z := answer.Zones[0]; err != nil || z.TookOver != "mon-1" || !z.InSync || !strings.HasPrefix(z.Unheard, "what was said at mon-1, ") {
			t.Errorf("got %+v (%v)", z, err)
		}
		answer, err = second.Reconcile(t.Context(), control.PlanRequest{TakeOver: true})
		if z := answer.Zones[0]; err != nil || z.TookOver != "" || z.Unheard != "" {
			t.Errorf("said again: %+v (%v)", z, err)
		}
	})
}

// Frozen, the leader still writes its stamp, and says so.
func TestFrozenLeaderWritesItsStamp(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, _ := pair(t)
		d := w.run()
		time.Sleep(settled)
		if _, err := d.Override(t.Context(), control.OverrideRequest{Kind: "freeze", Target: "all", Reason: "audit", For: "1h"}, "ops"); err != nil {
			t.Fatal(err)
		}
		if notices := strings.Join(d.status().Notices, "; "); !strings.Contains(notices, "nothing but the stamp, which says who leads, is written: frozen by ops") {
			t.Errorf("status says %q", notices)
		}
	})
}
