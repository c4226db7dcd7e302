package schedule

import (
	"container/heap"
	"context"
	"log/slog"
	"math"
	"reflect"
	"sync"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/clock"
)

// DefaultWorkers is the most probes in flight at once unless Options say
// otherwise: enough for 10,000 targets that all hang for half their interval.
// Each holds a socket, so the limit on open files must leave room for them.
const DefaultWorkers = 6000

// Job asks for one target to be probed.
type Job struct {
	Spec   *check.Spec
	Target check.Target
	// NotBefore holds a target back until that boot time: nothing is sent
	// before, the first probe goes out then, and the others follow at the
	// interval. Zero, or a time that has passed, holds nothing back.
	NotBefore time.Duration
}

// Options are what a Schedule works with. Clock, Probe and Results are needed.
type Options struct {
	Clock clock.Clock
	// Probe probes one address and returns before or soon after its context
	// ends. It is called from many goroutines. Target, Start and End of its
	// result are filled in by the schedule.
	Probe func(ctx context.Context, spec *check.Spec, address string) check.Result
	// Results takes what was found, at most once a tick and from one goroutine.
	// It may block for a while: targets whose results wait are not probed
	// again meanwhile. It must return once the context of Run has ended. A
	// batch that was under way when Set was called may arrive after it.
	Results func([]check.Result)
	Workers int          // the most probes in flight; 0 means DefaultWorkers
	Logger  *slog.Logger // nil logs nothing
}

// Schedule probes a set of targets, each at its own slots. Its methods may be
// called from many goroutines.
type Schedule struct {
	opts Options
	log  *slog.Logger
	wake chan struct{} // the set of jobs changed, or a worker became free
	done chan struct{} // there are finished probes

	mu       sync.Mutex
	targets  map[check.Target]*entry
	heap     dueHeap
	waiting  []flight // due, but all workers are taken; first come, first served
	running  int
	idle     []chan flight // workers without a probe, the latest last
	ended    bool          // Run is over
	finished []flight
	limit    int
	needed   int
	awake    awake
	lag      window
	counts   counts
}

// New makes a schedule without jobs. Nothing is probed before Set and Run.
func New(o Options) *Schedule {
	if o.Workers <= 0 {
		o.Workers = DefaultWorkers
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Schedule{
		opts:    o,
		log:     log,
		wake:    make(chan struct{}, 1),
		done:    make(chan struct{}, 1),
		targets: map[check.Target]*entry{},
	}
}

// Set replaces the jobs, all at once. A target that is in both sets keeps its
// slots and its probe in flight; a changed interval gives it new slots; a
// probe in flight of a removed target, or of one whose spec asks something
// else now, runs to its end and is forgotten. Of several jobs with one target
// the first counts, so the same check and address is probed once however many
// record sets use it.
//
// Every spec must have an interval of at least check.MinInterval and a timeout
// below it, and must not change any more.
func (s *Schedule) Set(jobs []Job) {
	now := s.opts.Clock.Boot()
	s.mu.Lock()
	next := make(dueHeap, 0, len(jobs))
	wanted := make(map[*entry]bool, len(jobs))
	for _, job := range jobs {
		if wanted[s.targets[job.Target]] {
			continue
		}
		e := s.admit(job, now)
		wanted[e] = true
		e.place = len(next)
		next = append(next, e)
	}
	s.retire(wanted)
	heap.Init(&next)
	s.heap = next
	s.resize()
	limit, needed := s.limit, s.needed
	s.mu.Unlock()
	signal(s.wake)
	if needed > limit {
		s.log.Warn("more probes may be in flight than the limit allows: probes will start late when targets hang",
			"limit", limit, "needed", needed, "targets", len(next))
	}
}

// Hasten probes a target at a boot time that comes before its next slot, or at
// once when that has passed; a probe under way is waited for. The slots stay
// where they are, and the next one counts again after this probe. A target that
// is no job, or is due before, is left alone.
func (s *Schedule) Hasten(target check.Target, at time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.targets[target]
	if e == nil || e.removed || at >= e.due {
		return
	}
	e.hasten = at
	if !e.busy {
		s.bringForward(e)
	}
}

// Hold sends nothing to a target before a boot time, at which it is probed; its
// slots go on from there. A time that has passed lets the target go at its next
// slot. A probe under way runs to its end, and one that was to be hastened is
// forgotten. It holds until the next Set, whose jobs say anew what is held.
func (s *Schedule) Hold(target check.Target, until time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.targets[target]
	if e == nil || e.removed {
		return
	}
	now := s.opts.Clock.Boot()
	if !e.hold(until, now, false) {
		return
	}
	e.hasten = 0
	e.due = slotAfter(max(now, e.notBefore-1), e.spec.Interval, e.phase)
	heap.Fix(&s.heap, e.place)
	signal(s.wake)
}

// bringForward makes what Hasten asked for the next due time of an entry.
func (s *Schedule) bringForward(e *entry) {
	due := max(e.hasten, e.notBefore)
	e.hasten = 0
	if due < e.due {
		e.due = due
		heap.Fix(&s.heap, e.place)
		signal(s.wake)
	}
}

// admit makes or updates the entry of a job.
func (s *Schedule) admit(job Job, now time.Duration) *entry {
	e := s.targets[job.Target]
	if e == nil {
		e = &entry{target: job.Target}
		s.targets[job.Target] = e
	}
	fresh := e.spec == nil || e.removed
	respread := fresh || e.spec.Interval != job.Spec.Interval
	if fresh || !sameQuestion(e.spec, job.Spec) {
		e.generation++
	}
	e.spec, e.removed = job.Spec, false
	if respread {
		e.phase = phaseOf(e.target.ID(), e.spec.Interval)
	}
	if held := e.hold(job.NotBefore, now, respread); held || respread {
		e.due = slotAfter(max(now, e.notBefore-1), e.spec.Interval, e.phase)
	}
	return e
}

// hold takes a job's hold over and reports whether the next slot must be
// worked out anew for it. The slots go on from the end of a hold, and one that
// was lifted early lets the target go at its next slot.
func (e *entry) hold(until, now time.Duration, respread bool) bool {
	if until == e.notBefore && !respread {
		return false
	}
	lifted := e.notBefore > now
	e.notBefore = until
	if until > now {
		e.phase = until % e.spec.Interval
		return true
	}
	return lifted
}

// retire takes leave of the entries that are no longer wanted. One that is
// busy stays known until it is done: added again meanwhile, its target would
// have two probes in flight.
func (s *Schedule) retire(wanted map[*entry]bool) {
	for target, e := range s.targets {
		switch {
		case wanted[e]:
		case e.busy:
			e.removed = true
			e.generation++
		default:
			delete(s.targets, target)
		}
	}
}

// resize works out how many probes may be in flight. When every target hangs,
// timeout/interval of each is in flight on average. The slots are spread by a
// hash, so the peak lies above that by a few times the square root, as it does
// for any random spread.
func (s *Schedule) resize() {
	load := 0.0
	for _, e := range s.heap {
		load += inFlight(e.spec)
	}
	peak := math.Ceil(load + 4*math.Sqrt(load) + 16)
	s.needed = min(int(peak), len(s.heap))
	s.limit = min(s.needed, s.opts.Workers)
}

// inFlight is the part of its time for which a target that hangs has a probe in
// flight, at its fastest.
func inFlight(spec *check.Spec) float64 {
	between := spec.Interval
	if spec.FastInter > 0 {
		between = max(spec.FastInter, spec.Timeout)
	}
	return spec.Timeout.Seconds() / between.Seconds()
}

// sameQuestion reports whether two specs send and expect the same, so that
// what one found out holds for the other. What becomes of a result is no part of
// it.
func sameQuestion(a, b *check.Spec) bool {
	if a == b {
		return true
	}
	x, y := *a, *b
	x.Fall, x.Rise, x.Interval, x.FastInter = y.Fall, y.Rise, y.Interval, y.FastInter
	x.Cooldown, x.Causes = y.Cooldown, y.Causes
	return reflect.DeepEqual(x, y)
}

// signal leaves word on a channel of one slot; word that is there already is
// word enough.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
