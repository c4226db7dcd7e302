package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/override"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/store"
)

// failedOver is a world in which a died ten minutes ago and b is live, with a
// daemon that runs.
func failedOver(t *testing.T, options memory.Options) (*world, *running) {
	t.Helper()
	w := newWorld(t, options)
	d := w.run()
	time.Sleep(settled)
	w.site.fail(a)
	time.Sleep(10 * time.Minute)
	w.mustLive(b)
	return w, d
}

// TestCase24RestartInAnOutage restarts in the middle of an outage: by SIGTERM,
// by SIGKILL, by SIGKILL right after the write, and with the state lost too. The
// name stays where it is, nothing is written, nobody is told again, and the way
// back takes the full rise and hold.
func TestCase24RestartInAnOutage(t *testing.T) {
	for name, restart := range map[string]func(w *world, d *running){
		"stopped": func(_ *world, d *running) { d.end() },
		"killed":  func(_ *world, d *running) { d.kill() },
		"killed, and the state is gone": func(w *world, d *running) {
			d.kill()
			if err := os.RemoveAll(w.config.State.Dir); err != nil {
				w.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubbled(t, func(t *testing.T) {
				w, d := failedOver(t, class)
				restart(w, d)
				before, said := len(w.writes(home)), len(w.log.with("to=down"))
				w.run()
				time.Sleep(10 * time.Minute)
				w.mustLive(b)
				if n := len(w.writes(home)) - before; n > 0 {
					t.Errorf("%d writes after the restart", n)
				}
				if n := len(w.log.with("to=down")) - said; n > 0 && !strings.Contains(name, "gone") {
					t.Errorf("told %d times again that it is down", n)
				}
				w.site.heal(a)
				healed := time.Now()
				time.Sleep(4 * time.Minute)
				w.mustLive(b)
				time.Sleep(3 * time.Minute)
				w.mustLive(a)
				if after := w.when(w.writes(home)[before]).Sub(healed); after < 5*time.Minute+20*time.Second {
					t.Errorf("failed back after %s, before rise and hold were over", after)
				}
			})
		})
	}
}

// The same with a kill right after the write of the failover, before anything
// else could be stored.
func TestCase24KilledRightAfterTheWrite(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		time.Sleep(settled)
		w.site.fail(a)
		for len(w.writes(home)) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		d.kill()
		before := len(w.writes(home))
		w.run()
		time.Sleep(10 * time.Minute)
		w.mustLive(b)
		if n := len(w.writes(home)) - before; n > 0 {
			t.Errorf("%d writes after the restart", n)
		}
	})
}

// A hold that was running goes on after a restart, it does not begin anew.
func TestHoldOutlivesARestart(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, d := failedOver(t, class)
		w.site.heal(a)
		healed := time.Now()
		time.Sleep(3 * time.Minute)
		d.end()
		time.Sleep(30 * time.Second)
		w.run()
		time.Sleep(3 * time.Minute)
		w.mustLive(a)
		if after := w.when(w.writes(home)[1]).Sub(healed); after > 5*time.Minute+45*time.Second {
			t.Errorf("failed back after %s", after)
		}
	})
}

// TestCase29StaleState starts three days later, when the operator has switched
// by hand meanwhile and all is well: nothing is written, and that the zone
// answers otherwise than it did is said once.
func TestCase29StaleState(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, d := failedOver(t, class)
		d.end()
		time.Sleep(72 * time.Hour)
		w.site.heal(a)
		if err := w.zones[home].EditByHand(memory.Put(string(www.Name), "A", time.Minute, a), memory.Delete(string(www.Name), "A", b)); err != nil {
			t.Fatal(err)
		}
		before := len(w.writes(home))
		d = w.run()
		synctest.Wait()
		if s := d.status(); s.Targets[0].Verdict != "unknown" {
			t.Errorf("a verdict of three days ago is believed: %+v", s.Targets[0])
		}
		time.Sleep(10 * time.Minute)
		w.mustLive(a)
		if n := len(w.writes(home)) - before; n > 0 {
			t.Errorf("%d writes", n)
		}
		if lines := w.log.with("drift: live is 192.0.2.10, was 192.0.2.20"); len(lines) != 1 {
			t.Errorf("the drift was said %d times", len(lines))
		}
		if len(w.log.with("the saved state is old")) != 1 {
			t.Error("nobody says that the state is old")
		}
	})
}

// TestCase30CorruptState starts on every kind of state that means nothing. The
// daemon runs; nothing that is paused is resumed before a person said so; what
// was found is kept; and a failover that resumes nothing works.
func TestCase30CorruptState(t *testing.T) {
	good := func(w *world) string {
		content, err := os.ReadFile(filepath.Join(w.config.State.Dir, "state.json"))
		if err != nil {
			w.Fatal(err)
		}
		return string(content)
	}
	sealed := func(payload string) func(*world) string {
		return func(w *world) string {
			s, _, err := store.Open(w.TempDir(), store.Options{})
			if err == nil {
				err = s.Save([]byte(payload))
			}
			if err != nil {
				w.Fatal(err)
			}
			content, err := os.ReadFile(filepath.Join(s.Dir(), "state.json"))
			if err != nil {
				w.Fatal(err)
			}
			return string(content)
		}
	}
	text := func(s string) func(*world) string { return func(*world) string { return s } }
	for name, content := range map[string]func(*world) string{
		"empty":            text(""),
		"zeros":            text(strings.Repeat("\x00", 4096)),
		"half":             func(w *world) string { s := good(w); return s[:len(s)/2] },
		"a list":           text("[]"),
		"a newer version":  text(`{"version":999}`),
		"a changed letter": func(w *world) string { return strings.Replace(good(w), "down", "gown", 1) },
		"a list, sealed":   sealed(`[]`),
		"nothing, sealed":  sealed(`null`),
		"a nonsense count": sealed(`{"targets":{"web@192.0.2.10":{"definition":"","verdict":"up","fails":9223372036854775807}}}`),
		"an empty address": sealed(`{"targets":{},"sets":[{"key":{}}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			bubbled(t, func(t *testing.T) { startOn(t, content) })
		})
	}
}

// startOn starts on a state of this content, with the older generation unusable
// too.
func startOn(t *testing.T, content func(*world) string) {
	t.Helper()
	w, d := failedOver(t, class)
	d.end()
	state := filepath.Join(w.config.State.Dir, "state.json")
	bad := content(w)
	for _, path := range []string{state, state + ".1"} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := len(w.writes(home))
	w.site.heal(a)
	w.site.fail(b) // a is paused, and would have to be resumed
	d = w.run()
	time.Sleep(10 * time.Minute)
	w.mustLive(b)
	if n := len(w.writes(home)) - before; n > 0 {
		t.Errorf("%d writes before a person looked", n)
	}
	status := d.status()
	if len(status.Notices) == 0 || !strings.Contains(status.Notices[0], "approve all") {
		t.Errorf("status does not say why: %v", status.Notices)
	}
	kept := false
	for path, found := range w.files(w.config.State.Dir) {
		kept = kept || found == bad && (strings.Contains(path, "state.corrupt-") || strings.Contains(path, "state.newer-"))
	}
	if !kept {
		t.Errorf("what was found is not kept: %v", w.files(w.config.State.Dir))
	}
	if strings.Contains(bad, "999") {
		refusesToWriteOver(t, d, state, bad)
		return
	}
	if _, err := d.Approve(t.Context(), control.ApproveRequest{Target: "all"}, "ops"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(settled)
	w.mustLive(a)
}

// A state of a newer version is never written over, so an approval cannot be
// stored and is refused.
func refusesToWriteOver(t *testing.T, d *running, state, bad string) {
	t.Helper()
	if _, err := d.Approve(t.Context(), control.ApproveRequest{Target: "all"}, "ops"); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("approved what cannot be stored: %v", err)
	}
	if content, err := os.ReadFile(state); err != nil || string(content) != bad {
		t.Errorf("the newer state was written over: %q (%v)", content, err)
	}
}

// A directory, or a file that nobody may read, in the place of the state.
func TestCase30StateThatIsNoFile(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		if err := os.MkdirAll(filepath.Join(w.config.State.Dir, "state.json", "x"), 0o750); err != nil {
			t.Fatal(err)
		}
		d := w.run()
		time.Sleep(settled)
		w.site.fail(a)
		time.Sleep(settled)
		w.mustLive(b) // a create: nothing is resumed
		if len(d.status().Notices) == 0 {
			t.Error("no word of it")
		}
	})
}

// TestCase31DiskThatFailsStopsNoFailover takes the state directory away while
// the daemon runs: the failover works, the trouble is said once and shown, and
// when the directory is back the state is saved.
func TestCase31DiskThatFailsStopsNoFailover(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, open)
		d := w.run()
		time.Sleep(settled)
		dir := w.config.State.Dir
		lock := filepath.Join(dir, "leader.lock")
		for name := range w.files(dir) {
			if name != lock { // which is held, and looked at by the gate
				if err := os.Remove(name); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, name := range []string{"state.json", "journal.jsonl", "notes.json"} { // no file can be made there
			if err := os.MkdirAll(filepath.Join(dir, name, "in the way"), 0o750); err != nil {
				t.Fatal(err)
			}
		}
		w.site.fail(a)
		time.Sleep(5 * time.Minute)
		w.mustLive(b)
		for _, what := range []string{"ERROR cannot save the state", "ERROR cannot append to the journal", "note not stored"} {
			if n := len(w.log.with(what)); n != 1 {
				t.Errorf("%q is in the log %d times", what, n)
			}
		}
		if n := d.status().Notices; len(n) != 1 || !strings.Contains(n[0], "cannot be saved") {
			t.Errorf("status says %v", n)
		}
		if _, err := d.Approve(t.Context(), control.ApproveRequest{Target: "www.example.com"}, "ops"); err == nil || !strings.Contains(err.Error(), "could not be stored") {
			t.Errorf("approved what cannot be stored: %v", err)
		}
		for _, name := range []string{"state.json", "journal.jsonl", "notes.json"} {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * saveAgain) // an interval of the check
		if n := d.status().Notices; len(n) > 0 {
			t.Errorf("status still says %v", n)
		}
		if _, err := os.Stat(filepath.Join(dir, "state.json")); err != nil {
			t.Error(err)
		}
	})
}

// A leader whose directory is gone by the time it wins fails over all the same,
// says that it stores nothing, and refuses what has to be stored.
func TestCase31LeaderWithoutADirectory(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, open)
		w.config.Leader = config.Leader{Lock: config.LockNone, IAmAlone: true}
		d, err := New(w.options())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.RemoveAll(w.config.State.Dir), os.WriteFile(w.config.State.Dir, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		r := w.start(d)
		time.Sleep(settled)
		w.site.fail(a)
		time.Sleep(settled)
		w.mustLive(b)
		if n := r.status().Notices; len(n) != 1 || !strings.Contains(n[0], "cannot be saved") {
			t.Errorf("status says %v", n)
		}
		if _, err := r.Approve(t.Context(), control.ApproveRequest{Target: "www"}, "ops"); err == nil || !strings.Contains(err.Error(), "could not be stored") {
			t.Errorf("approved what cannot be stored: %v", err)
		}
		r.end()
		if r.err == nil {
			t.Error("ended without a word of what is not saved")
		}
	})
}

// Without a directory that could be made the daemon does not start, and says
// what to do.
func TestStateDirectoryThatCannotBeMade(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		w.config.State.Dir = filepath.Join(file, "state")
		if _, err := New(w.options()); err == nil || !strings.Contains(err.Error(), "state.dir") {
			t.Errorf("got %v", err)
		}
		looking := w.options()
		looking.Write = false
		if _, err := New(looking); err != nil {
			t.Errorf("for one that only looks: %v", err)
		}
	})
}

// At an unfenced provider a restart after an orderly end takes away at once,
// because the notes say that no call is open; after a kill in the middle of a
// call it waits until that call is over.
func TestNotesOfAnOrderlyEndSpareTheWait(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %v", killed), func(t *testing.T) {
			bubbled(t, func(t *testing.T) {
				const late = 2 * time.Minute
				w := newWorld(t, memory.Options{Class: memory.Status, Late: late})
				w.config.Records[0].Policy, w.config.Records[0].Failback.Hold = "all", 0
				d := w.run()
				time.Sleep(late + settled) // from here on the notes are believed
				if killed {
					w.site.fail(a)
					w.zones[home].Faults(func(op memory.Op, _ int) memory.Fault {
						if op == memory.OpTakeAway {
							return memory.Fault{Kind: memory.Late}
						}
						return memory.Fault{}
					})
					for len(w.zones[home].Open()) == 0 {
						time.Sleep(10 * time.Millisecond)
					}
					d.kill()
				} else {
					d.end()
					w.site.fail(a)
				}
				began := time.Now()
				w.run()
				time.Sleep(5 * time.Minute)
				w.mustLive(b)
				writes := w.writes(home)
				after := w.when(writes[len(writes)-1]).Sub(began)
				if killed && after < late || !killed && after > w.site.failures(a)[2].Sub(began)+time.Second+handOver {
					t.Errorf("taken away %s after the start", after)
				}
			})
		})
	}
}

// What a person says without a daemon makes nothing that was known before any
// younger: verdicts are as old as the last look at the targets.
func TestAWordMakesNoVerdictYounger(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, d := failedOver(t, class)
		d.end()
		time.Sleep(10 * time.Minute)
		once, progress, _ := w.once(true)
		if _, err := once.ApproveOnce(t.Context(), control.ApproveRequest{Target: "www"}, "ops", progress); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Minute)
		d = w.run()
		synctest.Wait()
		if s := d.status(); s.Targets[0].Verdict != "down" {
			t.Errorf("a verdict of fourteen minutes ago is lost: %+v", s.Targets[0])
		}
		d.end()
		time.Sleep(10 * time.Minute)
		once, progress, _ = w.once(true)
		if _, err := once.ApproveOnce(t.Context(), control.ApproveRequest{Target: "www"}, "ops", progress); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		d = w.run()
		synctest.Wait()
		if s := d.status(); s.Targets[0].Verdict != "unknown" {
			t.Errorf("a verdict of twenty minutes ago is believed: %+v", s.Targets[0])
		}
		if len(w.log.with("the saved state is old")) != 1 {
			t.Error("nobody says that the state is old")
		}
	})
}

// TestWhoTakesTheDirectoryKnowsWhatWasSaid at the process before it, also when the
// wall clock was set back between its start and that.
func TestWhoTakesTheDirectoryKnowsWhatWasSaid(t *testing.T) {
	for name, step := range map[string]time.Duration{"steady": 0, "set back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			bubbled(t, func(t *testing.T) {
				w := newWorld(t, class)
				first := w.run()
				time.Sleep(settled)
				second := w.run()
				time.Sleep(settled)
				w.clock.(*clock.Virtual).StepWall(step)
				first.overrule(control.OverrideRequest{Kind: "freeze", Target: "all", For: "forever"})
				first.kill()
				time.Sleep(time.Minute)
				if s := second.status(); s.Leader.State != "leader" || s.Frozen == nil {
					t.Errorf("it is %s and frozen: %v", s.Leader.State, s.Frozen)
				}
			})
		})
	}
}

// TestWhoTakesTheDirectoryKnowsWhatItHeard from other nodes, and the process before it
// did not: one that stood still.
func TestWhoTakesTheDirectoryKnowsWhatItHeard(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		first := w.run()
		time.Sleep(settled)
		second := w.run()
		synctest.Wait() // it has begun, and looks at its nodes no more
		second.ask(func(*engine.Engine) { second.nodes = second.joinNodes(nil) })
		time.Sleep(settled)
		first.overrule(control.OverrideRequest{Kind: "drain", Target: a, For: "1h"})
		said := drained(a, w.clock.Wall())
		freeze := override.Override{Kind: override.Freeze, Target: "all", Thing: override.All, By: "ann", Reason: "audit", Said: said.Said, From: said.From}
		second.takeWords([]override.Override{freeze}, endsOf([]override.Override{said}, w.clock.Wall(), "bob"))
		first.kill()
		time.Sleep(time.Minute)
		if s := second.status(); s.Leader.State != "leader" || s.Frozen == nil || len(s.Overrides) != 1 {
			t.Errorf("it is %s, with %+v; want the freeze alone", s.Leader.State, s.Overrides)
		}
	})
}
