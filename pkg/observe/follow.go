package observe

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Late is a clock that had not answered by the end of a sample: what the sample shows
// of it is what it said before.
type Late struct {
	Clock Clock
	Who   string        // of Authoritative the server; else empty
	For   time.Duration // since it was asked
}

// LateFor is how long a clock was waited for when the sample ended; 0 for one that had
// answered.
func (s Sample) LateFor(clock Clock, who string) time.Duration {
	for _, l := range s.Late {
		if l.Clock == clock && l.Who == who {
			return l.For
		}
	}
	return 0
}

// Follow is Run where no clock waits for another: each is asked every so often, one
// that takes longer as soon as it may be asked again. A sample ends when all that it
// asked have answered, at the latest when the next one begins. The first one waits for
// all. Retire is not for meanwhile.
func (w *Watcher) Follow(ctx context.Context, every time.Duration, each func(Sample) (more bool)) {
	first, way := w.sample(ctx)
	if ctx.Err() != nil || !each(first) {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	f := newFollower(w, first, way)
	defer f.all.Wait()
	defer cancel()
	for next := first.At; ; {
		if next = next.Add(every); time.Until(next) < 0 {
			next = time.Now()
		}
		pause := time.NewTimer(time.Until(next))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return
		}
		s := f.sample(ctx, next.Add(every))
		if ctx.Err() != nil || !each(s) {
			return
		}
	}
}

// follower has one question under way for each clock at most. All but the questions
// belongs to the goroutine of Follow.
type follower struct {
	w     *Watcher
	now   Sample // what each clock said last
	way   way    // where the resolver led last
	round int
	asked []*asked    // the servers in their order, then resolver, kept and new
	came  chan func() // what an answer changes; has room for one of each clock
	all   sync.WaitGroup
}

// asked is a clock, and the question that it has not answered yet.
type asked struct {
	clock Clock
	who   string
	since time.Time // zero while there is none
	round int       // in which it was asked
}

func newFollower(w *Watcher, first Sample, way way) *follower {
	f := &follower{w: w, now: first, way: way}
	for _, v := range first.Servers {
		f.asked = append(f.asked, &asked{clock: Authoritative, who: v.Server.String()})
	}
	f.asked = append(f.asked, &asked{clock: Resolver}, &asked{clock: Kept}, &asked{clock: New})
	f.came = make(chan func(), len(f.asked))
	f.now = f.shown(first.At) // which shares nothing with what was handed over
	return f
}

// ask asks a clock that has answered; question gives what its answer changes.
func (f *follower) ask(a *asked, question func() (take func())) {
	if !a.since.IsZero() {
		return
	}
	a.since, a.round = time.Now(), f.round
	f.all.Go(func() {
		take := question()
		f.came <- func() {
			a.since = time.Time{}
			take()
		}
	})
}

// sample asks all that have answered, and waits for them until a time.
func (f *follower) sample(ctx context.Context, until time.Time) Sample {
	f.round++
	at := time.Now()
	f.askServers(ctx)
	f.askResolver(ctx)
	end := time.NewTimer(time.Until(until))
	defer end.Stop()
	for over := false; !over && f.waits(); {
		select {
		case take := <-f.came:
			take()
		case <-end.C:
			over = true
		case <-ctx.Done():
			over = true
		}
	}
	for len(f.came) > 0 { // nobody else takes from it
		(<-f.came)()
	}
	return f.shown(at)
}

// waits reports whether something that was asked in this round has not answered.
func (f *follower) waits() bool {
	return slices.ContainsFunc(f.asked, func(a *asked) bool { return !a.since.IsZero() && a.round == f.round })
}

func (f *follower) askServers(ctx context.Context) {
	for i, server := range f.w.o.Servers {
		f.ask(f.asked[i], func() func() {
			v := f.w.lookAt(ctx, server)
			return func() { f.now.Servers[i] = v }
		})
	}
}

// askResolver asks where requests go, and makes them then. While the resolver is
// silent, the kept connection is asked all the same.
func (f *follower) askResolver(ctx context.Context) {
	resolver := f.asked[len(f.w.o.Servers)]
	if !resolver.since.IsZero() {
		f.askKept(ctx)
	}
	f.ask(resolver, func() func() {
		var s Sample
		way := f.w.way(ctx, &s)
		return func() {
			f.now.Resolver, f.now.Refused, f.way = s.Resolver, s.Refused, way
			f.askKept(ctx)
			f.askNew(ctx)
		}
	})
}

func (f *follower) askKept(ctx context.Context) {
	if f.w.o.Request == nil {
		return
	}
	way := f.way
	f.ask(f.asked[len(f.asked)-2], func() func() {
		reply := f.w.askKept(ctx, way)
		return func() { f.now.Kept = reply }
	})
}

func (f *follower) askNew(ctx context.Context) {
	if f.w.o.Request == nil {
		return
	}
	way := f.way
	f.ask(f.asked[len(f.asked)-1], func() func() {
		replies := f.w.askNew(ctx, way)
		return func() { f.now.New = replies }
	})
}

// shown is a sample of what each clock said last. The end of a connection is told once.
func (f *follower) shown(at time.Time) Sample {
	s := f.now
	s.At, s.Took, s.Late, s.Servers = at, time.Since(at), nil, slices.Clone(f.now.Servers)
	for _, a := range f.asked {
		if !a.since.IsZero() {
			s.Late = append(s.Late, Late{Clock: a.clock, Who: a.who, For: time.Since(a.since)})
		}
	}
	if s.Kept != nil {
		told := *s.Kept
		told.Ended, f.now.Kept = nil, &told
	}
	return s
}
