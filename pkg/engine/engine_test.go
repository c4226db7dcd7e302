package engine_test

import (
	"strings"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/engine"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
)

// begin plays commands, one a line, and starts with an empty trace.
func begin(t *testing.T, commands string) *world {
	t.Helper()
	w := newWorld()
	for line := range strings.Lines(strings.TrimSpace(commands)) {
		if command := strings.TrimSpace(line); command != "" {
			if err := w.do(command); err != nil {
				t.Fatalf("%s: %v", command, err)
			}
		}
	}
	w.output()
	return w
}

func ids(targets []check.Target) string {
	var list []string
	for _, t := range targets {
		list = append(list, t.ID())
	}
	return strings.Join(list, " ")
}

const twoZones = `
config zones=example.com.,example.net.
check web interval=10s fall=1 rise=1
check ssh interval=10s fall=1 rise=1
set www A policy=all check=web,ssh answers=192.0.2.2,192.0.2.1
set api A policy=all check=web answers=192.0.2.1
set www.example.net. A policy=all check=web answers=192.0.2.1,192.0.2.3
start
`

// TestTargets: each check and address once, sorted, and by zone.
func TestTargets(t *testing.T) {
	w := begin(t, twoZones)
	com, net := []record.Name{"example.com."}, []record.Name{"example.net."}
	const all = "ssh@192.0.2.1 ssh@192.0.2.2 web@192.0.2.1 web@192.0.2.2 web@192.0.2.3"
	if got := ids(w.engine.Targets()); got != all {
		t.Errorf("got %s", got)
	}
	if got, want := ids(w.engine.TargetsIn(net)), "web@192.0.2.1 web@192.0.2.3"; got != want {
		t.Errorf("in example.net.: got %s, want %s", got, want)
	}
	if got := ids(w.engine.TargetsIn(append(com, net...))); got != all {
		t.Errorf("in both: got %s", got)
	}
	if got := w.engine.TargetsIn([]record.Name{"example.org."}); len(got) > 0 {
		t.Errorf("in a zone that is not there: got %s", ids(got))
	}
}

// TestReadyAndUndecided: what a one-shot command waits for, and what it is left
// with.
func TestReadyAndUndecided(t *testing.T) {
	w := begin(t, twoZones+`
result web@192.0.2.1 S web@192.0.2.3 F
`)
	com, net := []record.Name{"example.com."}, []record.Name{"example.net."}
	if !w.engine.Ready(net) || w.engine.Ready(com) || w.engine.Ready(nil) {
		t.Errorf("ready: example.net. %v, example.com. %v, all %v", w.engine.Ready(net), w.engine.Ready(com), w.engine.Ready(nil))
	}
	const left = "ssh@192.0.2.1 ssh@192.0.2.2 web@192.0.2.2"
	if got := ids(w.engine.Undecided(nil)); got != left || ids(w.engine.Undecided(com)) != left || w.engine.Undecided(net) != nil {
		t.Errorf("undecided: got %s", got)
	}
	w.advance(20 * time.Second)
	if !w.engine.Ready(nil) || ids(w.engine.Undecided(nil)) != left {
		t.Errorf("after 2 x 1 intervals: ready %v, undecided %s", w.engine.Ready(nil), ids(w.engine.Undecided(nil)))
	}
}

// TestWorkForACommand: it holds what is ready, with the guards that the operator
// switched off, and is out until Done.
func TestWorkForACommand(t *testing.T) {
	w := begin(t, `
check web interval=10s fall=1 rise=1
set www A policy=priority check=web answers=192.0.2.1,192.0.2.2,192.0.2.3 hold=0s adopt=ask
set late A policy=all check=web answers=192.0.2.9
zone www A: 192.0.2.1 held, 192.0.2.2 paused, 192.0.2.3 live
start
restart lost
look
result web@192.0.2.1 S web@192.0.2.2 S web@192.0.2.3 S
`)
	for _, c := range []struct {
		override string
		want     string
	}{
		{"", "held: 192.0.2.1"},
		{"held", "state: 192.0.2.1"},
		{"state", "resume 192.0.2.2; held: 192.0.2.1"},
		{"held,state", "resume 192.0.2.1"},
	} {
		override := map[string]bool{}
		for word := range strings.SplitSeq(c.override, ",") {
			override[word] = true
		}
		work, found := w.engine.Work(w.clock(), home, override)
		if !found || len(work.Inputs) != 1 {
			t.Fatalf("got %v and %d record sets, want the one that is ready", found, len(work.Inputs))
		}
		if got := summary(work.Plan(w.seen(home))); got != c.want {
			t.Errorf("without %s: got %s, want %s", c.override, got, c.want)
		}
	}
	if w.engine.State().Sets[1].Adopted {
		t.Error("adopted, although nobody said so")
	}
	w.engine.Work(w.clock(), home, map[string]bool{plan.GuardAdopt: true})
	if !w.engine.State().Sets[1].Adopted {
		t.Error("a command that asks for the first plan was no yes to it")
	}
	if _, found := w.engine.Work(w.clock(), "example.org.", nil); found {
		t.Error("there is work for a zone that the config does not have")
	}
}

// summary spells what goes in and what is refused.
func summary(p plan.Plan) string {
	var list []string
	for _, c := range p.Changes() {
		if c.Action.Add() {
			list = append(list, string(c.Action)+" "+c.Value)
		}
	}
	for _, s := range p.Sets {
		for _, stopped := range s.Wanted.Stopped {
			guard := map[bool]string{true: "held", false: "state"}[stopped.Held]
			list = append(list, guard+": "+stopped.Value)
		}
	}
	return strings.Join(list, "; ")
}

// TestStrangersAreIgnored: events about zones and targets that the config does
// not have, as they come after a reload.
func TestStrangersAreIgnored(t *testing.T) {
	w := begin(t, `
check web interval=10s fall=1 rise=1
set www A policy=all check=web answers=192.0.2.1
zone www A: 192.0.2.1 live
start
look
result web@192.0.2.1 S
`)
	before := w.engine.State()
	const stranger = record.Name("example.org.")
	for _, event := range []engine.Event{
		engine.Seen{Zone: plan.Zone{Name: stranger}}, engine.Failed{Zone: stranger, Err: "503"},
		engine.Wrote{Zone: stranger, Applied: []plan.Change{{Change: record.Change{Key: record.Key{Zone: stranger, Name: stranger, Type: record.A}}}}},
		engine.Done{Zone: plan.Zone{Name: stranger}},
		engine.Results{Results: []check.Result{{Target: check.Target{Check: "web", Address: "192.0.2.9"}, Outcome: check.Fail}}},
	} {
		w.step(event)
	}
	if got := w.output(); got != "next never\n" {
		t.Errorf("got %s", got)
	}
	if after := w.engine.State(); len(after.Targets) != len(before.Targets) || len(after.Sets) != len(before.Sets) {
		t.Errorf("the state was %+v and is %+v", before, after)
	}
}

// TestUnknownEvent: nothing but the kinds that are documented.
func TestUnknownEvent(t *testing.T) {
	w := begin(t, "start")
	if effects := w.engine.Step(w.clock(), nil); effects.Err == nil || effects.Err.Error() != "step: unknown event <nil>" {
		t.Errorf("got %v", effects.Err)
	}
}

// TestRestoreIsForWhatIsStillThere: another definition makes a verdict worthless,
// a target, a set or a zone that left the config is dropped, and a clock that was
// set back makes no time lie in the future.
func TestRestoreIsForWhatIsStillThere(t *testing.T) {
	w := begin(t, `
config max_changes=1 max_writes=9/1h
check web interval=10s fall=1 rise=1
set www A policy=all check=web answers=192.0.2.1,192.0.2.2
set api A policy=all check=web answers=192.0.2.3
zone www A: 192.0.2.1 live, 192.0.2.2 live
start
look
result web@192.0.2.1 S web@192.0.2.2 F web@192.0.2.3 S
approve example.com plan=shown
`)
	state := w.engine.State()
	if len(state.Plans) != 1 {
		t.Fatalf("the approved plan is not in the state: %+v", state)
	}
	state.Plans["example.org."] = "0123456789ab"
	for i := range state.Sets {
		state.Sets[i].Written = []time.Time{wallStart.Add(time.Hour), wallStart.Add(-time.Minute)}
	}
	stored := state.Targets["web@192.0.2.2"]
	stored.Definition = "another"
	state.Targets["web@192.0.2.2"] = stored
	w.config.Sets = w.config.Sets[:1]
	w.engine = engine.New(w.config, w.clock())
	w.engine.Restore(state, true, true)
	verdicts := ""
	for _, target := range w.engine.View(w.clock()).Targets {
		verdicts += target.Target.ID() + " " + string(target.Verdict) + " "
	}
	if want := "web@192.0.2.1 up web@192.0.2.2 unknown "; verdicts != want {
		t.Errorf("got %s, want %s", verdicts, want)
	}
	again := w.engine.State()
	if len(again.Sets) != 1 || len(again.Plans) != 1 {
		t.Errorf("got %+v", again)
	}
	if written := again.Sets[0].Written; !written[0].Equal(wallStart.Add(-time.Minute)) || !written[1].Equal(wallStart.Add(w.now)) {
		t.Errorf("writes: got %v", written)
	}
}

// TestVerdictsAndHoldsApart: a command judges by its own rounds and takes the
// holds up all the same.
func TestVerdictsAndHoldsApart(t *testing.T) {
	w := begin(t, `
check web interval=10s fall=1 rise=1
set www A policy=priority check=web answers=192.0.2.1,192.0.2.2 hold=1m
zone www A: 192.0.2.1 paused, 192.0.2.2 live
start
look
result web@192.0.2.1 S web@192.0.2.2 S
advance 30s
`)
	state := w.engine.State()
	for _, holds := range []bool{true, false} {
		w.engine = engine.New(w.config, w.clock())
		w.engine.Restore(state, false, holds)
		if err := w.do("look"); err != nil {
			t.Fatal(err)
		}
		if w.engine.Ready(nil) {
			t.Error("ready, although no verdict was taken up")
		}
		if err := w.do("result web@192.0.2.1 S web@192.0.2.2 S"); err != nil {
			t.Fatal(err)
		}
		want := bootStart + 30*time.Second + time.Minute
		if holds {
			want = bootStart + time.Minute
		}
		if w.next != want {
			t.Errorf("holds %v: due at %s, want %s", holds, w.next, want)
		}
	}
}

// TestTakingOver: a node that becomes the leader takes up what persons said to the
// one before, and what was lost with it, and plans anew with that.
func TestTakingOver(t *testing.T) {
	const commands = `
check web interval=10s fall=1 rise=1
set www A policy=priority check=web answers=192.0.2.1,192.0.2.2,192.0.2.3 max_live=2 adopt=ask
zone www A: 192.0.2.1 live, 192.0.2.2 live, 192.0.2.3 live
start
look
result web@192.0.2.1 S web@192.0.2.2 S web@192.0.2.3 S
`
	before := begin(t, commands+"approve www.example.com")
	after := begin(t, commands)
	if after.next != 0 {
		t.Fatalf("a window is open before anybody said yes, to %s", after.next)
	}
	after.engine.Restore(before.engine.State(), false, false)
	after.step(engine.Tick{})
	if want := after.clock().Boot + time.Second; after.next != want {
		t.Errorf("with the yes of before: next %s, want %s", after.next, want)
	}

	after = begin(t, commands+"seen www A: 192.0.2.1 paused, 192.0.2.2 live\nadvance 1s")
	after.engine.Lose()
	if got := after.engine.View(after.clock()).Sets[0].Plan.Wanted.Stopped; len(got) != 1 {
		t.Errorf("lost: got %v stopped, want 192.0.2.1", got)
	}
}

// TestLoseIsRemembered: until a person approves all.
func TestLoseIsRemembered(t *testing.T) {
	w := begin(t, "start\nrestart lost\nrestart\nrestart")
	if !w.engine.View(w.clock()).Lost {
		t.Error("forgotten by a restart")
	}
	w.step(engine.Approve{Target: "all", By: "ann"})
	if w.engine.View(w.clock()).Lost || w.engine.State().Lost {
		t.Error("still lost after approve all")
	}
}

// TestApproveThePlanOfNow: inside an open window the plan that was shown before
// the last change is not the plan any more.
func TestApproveThePlanOfNow(t *testing.T) {
	w := begin(t, `
config max_changes=1 debounce=10s
check web interval=10s fall=1 rise=1
set www A policy=all check=web answers=192.0.2.1,192.0.2.2,192.0.2.3
set api A policy=all check=web answers=192.0.2.1,192.0.2.2,192.0.2.3
zone www A: 192.0.2.1 live, 192.0.2.2 live, 192.0.2.3 live
zone api A: 192.0.2.1 live, 192.0.2.2 live, 192.0.2.3 live
start
look
fail example.com. 503
result web@192.0.2.1 S web@192.0.2.2 S web@192.0.2.3 F
`)
	shown := w.engine.View(w.clock()).Zones[0].Plan.Checksum()
	if err := w.do("result web@192.0.2.2 F"); err != nil {
		t.Fatal(err)
	}
	w.output()
	w.step(engine.Approve{Target: "example.com", Plan: shown, By: "ann"})
	if got := w.output(); !strings.Contains(got, "error approve zone example.com.: the plan is * now, not *") {
		t.Errorf("got %s", got)
	}
}

// TestViewIsOfItsMoment: inside an open window it shows what time has changed.
func TestViewIsOfItsMoment(t *testing.T) {
	w := begin(t, `
config debounce=1m
check web interval=10s fall=1 rise=1
set www A policy=priority check=web answers=192.0.2.1,192.0.2.2 hold=20s
set api A policy=all check=web answers=192.0.2.2,192.0.2.3
zone www A: 192.0.2.1 paused, 192.0.2.2 live
zone api A: 192.0.2.2 live, 192.0.2.3 live
start
look
result web@192.0.2.1 S web@192.0.2.2 S web@192.0.2.3 F
advance 10s
result web@192.0.2.3 S
advance 20s
`)
	v := w.engine.View(w.clock())
	if got := v.Sets[1].Plan.Wanted.Live[0]; got != "192.0.2.1" {
		t.Errorf("after the hold: got %s", got)
	}
}

// TestTheCauseIsTheLatest: a target that is down for another cause now is shown
// with that.
func TestTheCauseIsTheLatest(t *testing.T) {
	w := begin(t, `
check web interval=10s fall=1 rise=3
set www A policy=all check=web answers=192.0.2.1
zone www A: 192.0.2.1 live
start
look
result web@192.0.2.1 FTS
`)
	v := w.engine.View(w.clock())
	if got := v.Sets[0].Judged[0].Why; got != "web@192.0.2.1 down: headers/timeout" {
		t.Errorf("got %s", got)
	}
}

// TestWorkKeepsItsApprovals: what is approved later is not in Work that is out.
func TestWorkKeepsItsApprovals(t *testing.T) {
	w := begin(t, `
check web interval=10s fall=1 rise=1
set www A policy=all check=web answers=192.0.2.1,192.0.2.2,192.0.2.3,192.0.2.4,192.0.2.5
zone www A: 192.0.2.1 held, 192.0.2.2 held, 192.0.2.3 held, 192.0.2.4 held, 192.0.2.5 held
start
look
result web@192.0.2.1 S web@192.0.2.2 S web@192.0.2.3 S web@192.0.2.4 S web@192.0.2.5 S
`)
	var works []engine.Work
	for _, value := range []string{"192.0.2.5", "192.0.2.4", "192.0.2.3", "192.0.2.2", "192.0.2.1"} {
		w.step(engine.Approve{Target: value})
		work, _ := w.engine.Work(w.clock(), home, nil)
		works = append(works, work)
	}
	for i, work := range works {
		if in := work.Inputs[0].Resume; len(in) != i+1 || in[i] != "192.0.2.5" {
			t.Errorf("after %d approvals: got %v", i+1, in)
		}
	}
}

// TestViewIsACopy: a reader of a view does not change the engine.
func TestViewIsACopy(t *testing.T) {
	w := begin(t, twoZones)
	v := w.engine.View(w.clock())
	v.Sets[0].Judged[0].Why = "changed by the reader"
	if got := w.engine.View(w.clock()).Sets[0].Judged[0].Why; got == "changed by the reader" {
		t.Error("a reader of a view can change the engine")
	}
	if len(v.Zones) != 2 || v.Zones[0].Name != "example.com." || v.Zones[0].Listed {
		t.Errorf("got %+v", v.Zones)
	}
}
