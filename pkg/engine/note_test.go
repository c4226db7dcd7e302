package engine_test

import (
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/engine"
)

// TestNote: of what happens at one moment nothing is decided before all of it is
// known, the end of a debounce window not either.
func TestNote(t *testing.T) {
	w := begin(t, `
check web interval=10s fall=1 rise=1
set www A policy=all check=web answers=192.0.2.1,192.0.2.2,192.0.2.3
zone www A: 192.0.2.1 live, 192.0.2.2 live, 192.0.2.3 live
start
look
result web@192.0.2.1 S web@192.0.2.2 S web@192.0.2.3 S
result web@192.0.2.1 F
`)
	now := w.clock()
	now.Boot, now.Wall = now.Boot+time.Second, now.Wall.Add(time.Second) // the end of the window
	fail := check.Result{Target: check.Target{Check: "web", Address: "192.0.2.2"}, Outcome: check.Fail, Start: now.Boot, End: now.Boot}
	noted := w.engine.Note(now, engine.Results{Results: []check.Result{fail}})
	if len(noted.Journal) != 1 || !noted.Save || len(noted.Work) != 0 || noted.Next != 0 {
		t.Errorf("Note: %d lines, save %v, %d pieces of work, next %v; expected the verdict alone", len(noted.Journal), noted.Save, len(noted.Work), noted.Next)
	}
	stepped := w.engine.Step(now, engine.Tick{})
	if len(stepped.Work) != 1 {
		t.Fatalf("Step: %d pieces of work", len(stepped.Work))
	}
	if changes := stepped.Work[0].Plan(w.seen(home)).Changes(); len(changes) != 2 {
		t.Errorf("the work has %d changes, expected both: %v", len(changes), changes)
	}
}
