package daemon

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// seesLive is what a node shows as live of a name.
func (r *running) seesLive(name record.Name) string {
	for _, set := range r.status().Records {
		if set.Name == string(name) {
			return fmt.Sprint(set.Live)
		}
	}
	return "no such name"
}

// lists counts what a zone is asked from now on, which may be at this very moment.
func (w *world) lists() *atomic.Int64 {
	n := new(atomic.Int64)
	w.zones[home].Faults(func(op memory.Op, _ int) memory.Fault {
		if op == memory.OpList {
			n.Add(1)
		}
		return memory.Fault{}
	})
	return n
}

// A standby shows what the leader wrote a few seconds later, and asks the provider no
// more often for many writes than for one.
func TestAStandbyListsWhatTheLeaderWrote(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		s := newSquad(t, "a", "b")
		leader, standby := s.nodes[0], s.nodes[1]
		time.Sleep(settled)
		said := control.OverrideRequest{Kind: "drain", Target: a, For: "1h", Reason: "kernel"}
		if _, err := leader.Override(t.Context(), said, "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		leader.w.mustLive(b)
		if got := standby.seesLive(www.Name); got != "["+b+"]" {
			t.Errorf("the standby shows %s", got)
		}
		n := leader.w.lists()
		for range 20 {
			standby.ask(func(*engine.Engine) { standby.lookSoon(0, home) })
			time.Sleep(time.Second)
		}
		if n := n.Load(); n > 6 {
			t.Errorf("20 reasons in 20 seconds made it list %d times", n)
		}
	})
}

// A standby lists after a reload, and before it foresees.
func TestAStandbyListsAfterAReload(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		s := newSquad(t, "a", "b")
		standby := s.nodes[1]
		next := *standby.w.config
		key := record.Key{Zone: home, Name: "new.example.com.", Type: record.A}
		if err := standby.w.zones[home].EditByHand(memory.Put(string(key.Name), "A", time.Minute, a)); err != nil {
			t.Fatal(err)
		}
		next.Records = append(next.Records[:1:1], &steer.Spec{
			Key: key, Checks: []string{"web"}, Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep, Answers: []steer.Answer{{Value: a, Probe: a}},
		})
		time.Sleep(2 * time.Second) // the lag of its lists
		standby.options.Load = func() (*config.Config, error) { return &next, nil }
		if err := standby.Reload(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lookAgain + 2*time.Second)
		if got := standby.seesLive(key.Name); got != "["+a+"]" {
			t.Errorf("after the reload the standby shows %s", got)
		}
		time.Sleep(10 * time.Second)
		if err := standby.w.zones[home].EditByHand(memory.Put(string(www.Name), "A", time.Minute, b)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second) // the lag of its lists
		if _, err := standby.Override(t.Context(), control.OverrideRequest{Kind: "drain", Target: a, For: "1h", Reason: "kernel", DryRun: true}, "ann"); err != nil {
			t.Fatal(err)
		}
		if got := standby.seesLive(www.Name); got != fmt.Sprint([]string{a, b}) {
			t.Errorf("after it foresaw the standby shows %s", got)
		}
	})
}
