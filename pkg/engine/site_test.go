package engine_test

import (
	"testing"
	"time"

	"sidestep/pkg/engine"
)

// TestTakingOverAReturn: a node that saw the same outage as the leader before it
// takes up the yes that was said there, and goes on waiting where nothing was
// said, or where the site was out again since.
func TestTakingOverAReturn(t *testing.T) {
	const commands = `
check web interval=10s fall=1 rise=1
site dc1 access=web:192.0.2.1 return=approve/30m
set www A policy=all check=web answers=192.0.2.1+site:dc1,192.0.2.2
zone www A: 192.0.2.1 live, 192.0.2.2 live
start
look
result web@192.0.2.1 S web@192.0.2.2 S
result web@192.0.2.1 F
advance 40m
result web@192.0.2.1 S
advance 1m
`
	waits := func(w *world) bool { return w.engine.View(w.clock()).Sites[0].Waiting == "approval" }
	takeOver := func(w *world, from engine.State) {
		w.engine.Restore(from, false, false)
		w.step(engine.Tick{})
	}
	silent, approved := begin(t, commands), begin(t, commands+"approve dc1")
	for _, c := range []struct {
		name  string
		from  engine.State
		again bool // the site is out once more before this node takes over
		want  bool
	}{
		{"nobody said yes", silent.engine.State(), false, true},
		{"ann said yes", approved.engine.State(), false, false},
		{"ann said yes to the return before", approved.engine.State(), true, true},
		{"nothing was saved", engine.State{}, false, true},
	} {
		w := begin(t, commands)
		if !waits(w) {
			t.Fatalf("%s: it does not wait before", c.name)
		}
		if c.again {
			for _, command := range []string{"result web@192.0.2.1 F", "advance 40m", "result web@192.0.2.1 S"} {
				if err := w.do(command); err != nil {
					t.Fatal(err)
				}
			}
		}
		takeOver(w, c.from)
		if got := waits(w); got != c.want {
			t.Errorf("%s: waits %v, want %v", c.name, got, c.want)
		}
	}
	w := begin(t, commands+"approve dc1")
	takeOver(w, silent.engine.State())
	if longest := w.engine.View(w.clock()).Sites[0].Outage; longest != time.Duration(0) {
		t.Errorf("an outage of %s that is over", longest)
	}
}
