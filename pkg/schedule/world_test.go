package schedule

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"sidestep/pkg/check"
	"sidestep/pkg/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a schedule in a bubble with a probe function that the test writes,
// and a record of what happened.
type world struct {
	t     *testing.T
	clock *clock.Virtual
	*Schedule
	stop func() // ends Run and waits for it

	mu       sync.Mutex
	probe    func(ctx context.Context, spec *check.Spec, address string) check.Result
	starts   map[string][]time.Duration // by address
	inFlight map[string]int
	most     map[string]int // the most probes of an address that ran at once
	results  []check.Result
	batches  int
	sink     func()
}

// inWorld runs a test in a bubble; run is called before Run begins.
func inWorld(t *testing.T, o Options, body func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			t: t, clock: clock.Bubble(), probe: answer(check.Pass, time.Millisecond), sink: func() {},
			starts: map[string][]time.Duration{}, inFlight: map[string]int{}, most: map[string]int{},
		}
		o.Clock, o.Probe, o.Results = w.clock, w.record, w.take
		w.Schedule = New(o)
		body(w)
		if w.stop != nil {
			w.stop()
		}
	})
}

func (w *world) run() {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(ctx)
	}()
	w.stop = func() {
		cancel()
		<-ended
	}
}

func (w *world) record(ctx context.Context, spec *check.Spec, address string) check.Result {
	w.mu.Lock()
	w.starts[address] = append(w.starts[address], w.clock.Boot())
	w.inFlight[address]++
	w.most[address] = max(w.most[address], w.inFlight[address])
	probe := w.probe
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.inFlight[address]--
		w.mu.Unlock()
	}()
	return probe(ctx, spec, address)
}

func (w *world) take(results []check.Result) {
	w.sink()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.results = append(w.results, results...)
	w.batches++
}

// outcomes counts the results of an address that have come so far.
func (w *world) outcomes(address string) map[check.Outcome]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := map[check.Outcome]int{}
	for _, r := range w.results {
		if r.Target.Address == address {
			n[r.Outcome]++
		}
	}
	return n
}

func (w *world) startsOf(address string) []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]time.Duration(nil), w.starts[address]...)
}

func (w *world) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.starts = map[string][]time.Duration{}
	w.results = nil
}

// answer makes a probe that takes a while and heeds its deadline.
func answer(outcome check.Outcome, after time.Duration) func(context.Context, *check.Spec, string) check.Result {
	return func(ctx context.Context, _ *check.Spec, _ string) check.Result {
		select {
		case <-ctx.Done():
			return check.Result{Outcome: check.Fail, Phase: check.PhaseHeaders, Cause: check.CauseTimeout}
		case <-time.After(after):
			return check.Result{Outcome: outcome}
		}
	}
}

// hang is a target that accepts and never answers.
func hang(ctx context.Context, spec *check.Spec, address string) check.Result {
	return answer(check.Pass, time.Hour)(ctx, spec, address)
}

func spec(interval, timeout time.Duration) *check.Spec {
	return &check.Spec{
		Name: "web", Kind: check.KindTCP, TCP: &check.TCP{Port: 80},
		Interval: interval, Timeout: timeout, Fall: 3, Rise: 3,
	}
}

func jobs(s *check.Spec, n int) []Job {
	list := make([]Job, n)
	for i := range list {
		list[i] = job(s, fmt.Sprintf("127.0.%d.%d", i/250+1, i%250+1))
	}
	return list
}

func job(s *check.Spec, address string) Job {
	return Job{Spec: s, Target: check.Target{Check: s.Name, Address: address}}
}
