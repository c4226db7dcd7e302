package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/provider/httpapi/httpfake"
)

// trouble is what happens to one request of a walk.
type trouble struct {
	name  string
	fault httpfake.Fault
	kill  bool // the process is killed at it
}

const htmlPage = "<!DOCTYPE html><html><body><h1>It will be back soon</h1></body></html>"

var htmlHeader = http.Header{"Content-Type": {"text/html"}}

var troubles = []trouble{
	{name: "429", fault: httpfake.Fault{Status: 429, Header: http.Header{"Retry-After": {"1"}}, Body: "{}"}},
	{name: "500", fault: httpfake.Fault{Status: 500, Body: "{}"}},
	{name: "page with 200", fault: httpfake.Fault{Status: 200, Header: htmlHeader, Body: htmlPage}},
	{name: "applied and page with 502", fault: httpfake.Fault{Apply: true, Status: 502, Header: htmlHeader, Body: htmlPage}},
	{name: "dropped", fault: httpfake.Fault{Drop: true}},
	{name: "applied and dropped", fault: httpfake.Fault{Apply: true, Drop: true}},
	{name: "killed", fault: httpfake.Fault{Drop: true}, kill: true},
	{name: "applied and killed", fault: httpfake.Fault{Apply: true, Drop: true}, kill: true},
}

// actor is a sidestep that steers the zone of a walk.
type actor interface {
	kill() // returns when it is gone
	end()  // in order
	gone() bool
	told() string            // its log
	status() *control.Status // nil while it does not answer
}

// walk is a failover and a return at one provider, in a world of its own.
type walk struct {
	*testing.T

	hosted hosted
	cloud  *cloud
	front  *front
	begin  func() actor // with an empty disk
	turns  []turn
	fired  atomic.Bool // the trouble happened

	mu    sync.Mutex // held while an actor begins
	actor actor
}

// turn is what happens to the first answer, and what comes of it.
type turn struct {
	name string
	do   func()
	live string // what the name answers with afterwards

	// Known from the dry run.
	zone     string // all that the zone holds afterwards
	requests int    // sent in this turn
}

// TestFaultWalk lets each request of a failover and a return go wrong in each
// way, and starts sidestep again with an empty disk. Nothing is lost, nothing is
// doubled, the name is never empty, and the zone comes to the wanted state.
func TestFaultWalk(t *testing.T) {
	t.Parallel()
	for _, h := range hostedProviders {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			walkAll(t, h)
		})
	}
}

// walkers is how many walks of one provider go side by side: most of the time
// they wait.
const walkers = 10

// step is one walk: what happens to which request of which turn.
type step struct {
	turn, call int // from 0 and from 1
	trouble    trouble
}

func walkAll(t *testing.T, h hosted) {
	t.Helper()
	dry := dryRun(t, h)
	steps := make(chan step)
	var group sync.WaitGroup
	var begun, walked, missed atomic.Int64
	for range walkers {
		group.Go(func() {
			for s := range steps {
				t.Run(fmt.Sprintf("%s, call %d %s", dry[s.turn].name, s.call, s.trouble.name), func(t *testing.T) {
					begun.Add(1)
					w := newWalk(t, h, s.trouble.kill, walkAnswers[0])
					w.take(dry, s)
					walked.Add(1)
					if !w.fired.Load() {
						missed.Add(1)
					}
				})
			}
		})
	}
	total := 0
	for i, turn := range dry {
		total += turn.requests
		for call := range turn.requests {
			for _, trouble := range troubles {
				steps <- step{i, call + 1, trouble}
			}
		}
	}
	close(steps)
	group.Wait()
	t.Logf("%s: %d calls × %d faults = %d walks", h.name, total, len(troubles), walked.Load())
	if walked.Load() != begun.Load() {
		t.Errorf("only %d of %d walks came to their end", walked.Load(), begun.Load())
	}
	if n := missed.Load(); n > walked.Load()/20 {
		t.Errorf("%d walks took fewer calls than the dry run, and met no trouble", n)
	} else if n > 0 {
		t.Logf("%d of them took fewer calls than the dry run, and met no trouble", n)
	}
}

// dryRun takes the walk without any trouble, and tells what to expect.
func dryRun(t *testing.T, h hosted) (turns []turn) {
	t.Helper()
	t.Run("dry run", func(t *testing.T) {
		w := newWalk(t, h, false, walkAnswers[0])
		w.start()
		for i, turn := range w.turns {
			w.front.Forget()
			turn.do()
			w.wait(turn.name, func() bool {
				return w.cloud.live() == turn.live && w.ready() && w.verified() == i
			})
			w.settle()
			turn.zone, turn.requests = w.zoneNow(), len(w.front.Requests())
			t.Logf("requests of the %s: %s", turn.name, strings.Join(w.front.kinds(h.kind), " "))
			turns = append(turns, turn)
		}
		turns[0].requests = 1 // whether the zone is looked at again when all is judged depends on how soon it is
		w.actor.kill()
		t.Logf("history:\n%s", strings.Join(w.cloud.history(), "\n"))
	})
	switch {
	case t.Failed():
		t.Fatal("the dry run failed")
	case len(turns) == 0:
		t.Skip("the dry run was skipped")
	}
	return turns
}

// newWalk makes a zone in which some answers are live. Where that is the first
// one alone, a failover creates and pauses, and a return resumes and pauses.
func newWalk(t *testing.T, h hosted, outside bool, live ...string) *walk {
	t.Helper()
	w := &walk{T: t, hosted: h}
	w.cloud = h.start(t, live...)
	w.cloud.answers = walkAnswers
	w.front = startFront(t, w.cloud)
	w.turns = []turn{
		{name: "start", do: func() {}, live: walkAnswers[0]},
		{name: "failover", live: walkAnswers[1]},
		{name: "return", live: walkAnswers[0]},
	}
	if outside {
		w.outside()
	} else {
		w.inside()
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("requests: %s", strings.Join(w.front.kinds(h.kind), " "))
			t.Logf("history:\n%s", strings.Join(w.cloud.history(), "\n"))
		}
	})
	return w
}

// take is the walk with trouble at one call.
func (w *walk) take(dry []turn, s step) {
	w.Helper()
	if s.turn > 0 {
		w.start()
		w.wait("the start", w.ready)
		w.settle()
	}
	for i, turn := range w.turns {
		if i == s.turn {
			w.arm(s)
		}
		if i == 0 && s.turn == 0 {
			w.start()
		}
		turn.do()
		w.reach(dry[i], i != s.turn)
		if i == s.turn && !s.trouble.kill {
			w.actor.end()
			w.start()
		}
	}
	w.wait("sidestep to be at ease", func() bool { return w.replaced() && w.ready() })
	w.actor.end()
	w.inSync()
	if zone, want := w.zoneNow(), dry[len(dry)-1].zone; zone != want {
		w.Errorf("the zone differs at the end by\n%s", differences(zone, want))
	}
	if stamps := strings.Count(strings.Join(w.cloud.all(), "\n"), " nonce="); stamps > 1 {
		w.Errorf("the zone has %d stamps", stamps)
	}
}

// arm lets the trouble happen to one call, counted from 1.
func (w *walk) arm(s step) {
	n := 0
	w.front.Arm(func(*http.Request, []byte) bool {
		if n++; n != s.call {
			return false
		}
		if s.trouble.kill {
			w.mu.Lock()
			w.actor.kill()
			w.mu.Unlock()
		}
		w.fired.Store(true)
		return true
	}, 0, s.trouble.fault)
}

// reach waits until a turn has come to its end, and the trouble if it is due.
// Whoever was killed is replaced.
func (w *walk) reach(want turn, safe bool) {
	w.Helper()
	w.waitElse(want.name, func() bool {
		return w.replaced() && w.zoneNow() == want.zone && (safe || w.fired.Load() || w.idle()) && (want.name != "start" || w.ready())
	}, func() string {
		return fmt.Sprintf("the trouble happened: %v; the zone differs by\n%s", w.fired.Load(), differences(w.zoneNow(), want.zone))
	})
}

// verified is how often sidestep found its work done.
func (w *walk) verified() int {
	told := w.actor.told()
	return strings.Count(told, "msg=verified") + strings.Count(told, `"message":"verified"`)
}

// idle reports whether no request has come for long: the trouble never will.
func (w *walk) idle() bool {
	return time.Since(w.front.asked()) > 3*time.Second && w.ready()
}

// settle waits until no request comes any more.
func (w *walk) settle() {
	for seen := -1; seen != len(w.front.Requests()); {
		seen = len(w.front.Requests())
		time.Sleep(2 * insidePace.interval)
	}
}

// replaced starts another sidestep in the place of one that was killed. It is
// always true.
func (w *walk) replaced() bool {
	if w.actor.gone() {
		w.start()
	}
	return true
}

// start begins with an empty disk.
func (w *walk) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.actor = w.begin()
}

// ready reports whether sidestep leads, knows the zone, and doubts nothing.
func (w *walk) ready() bool {
	s := w.actor.status()
	if s == nil || s.Leader.State != "leader" || !s.Zones[0].Listed || s.Zones[0].OpenCalls > 0 || s.Zones[0].Waits != nil {
		return false
	}
	for _, target := range s.Targets {
		if target.Verdict == "unknown" {
			return false
		}
	}
	return true
}

func (w *walk) wait(what string, happened func() bool) {
	w.Helper()
	w.waitElse(what, happened, func() string { return "" })
}

// zoneNow is what the zone holds, without what a call that was cut off may leave
// behind.
func (w *walk) zoneNow() string {
	zone := w.cloud.zoneNow()
	if w.hosted.tidy != nil {
		zone = w.hosted.tidy(zone)
	}
	return zone
}

// waitElse is wait with a word about what there is in place of what is waited
// for.
func (w *walk) waitElse(what string, happened func() bool, is func() string) {
	w.Helper()
	for end := time.Now().Add(patience); !happened(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("waited %s for: %s\n%s", patience, what, is())
		}
	}
}
