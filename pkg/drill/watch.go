package drill

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/observe"
)

const (
	// settle is how many samples in a row have to show the new state.
	settle = 2
	// bearable is how many samples in a row may lose every request to what carries the
	// name, before the drain is taken back.
	bearable = 3
	// silence is how long the daemon may not answer before the rehearsal gives up:
	// nobody would notice that the rest fails.
	silence = 10 * time.Second
)

// watchOut watches until all have moved, and says why it stopped before that; empty
// when they had moved, or the time was over.
func (r *rehearsal) watchOut(ctx context.Context, w *observe.Watcher) (stopped string) {
	y := r.report.Out
	// A moment before the override ends by itself, after which the name moves back.
	end := y.Began.Add(r.plan.For - min(r.plan.For/10, time.Second))
	lost := 0
	return r.watch(ctx, w, y, func() time.Time { return end }, func(status control.Status, s observe.Sample) string {
		if lost++; !allFailed(s.New) {
			lost = 0
		}
		switch why := r.restFails(status); {
		case r.own(status) == nil:
			return "the drain was taken back by somebody else"
		case why != "":
			return "the rest is not healthy any more: " + why
		case lost >= bearable:
			return "requests to the rest fail: " + failure(s.New[0])
		}
		return ""
	})
}

// watchBack watches until all are back. How long that may take is known only once
// the daemon says until when it holds a failback back.
func (r *rehearsal) watchBack(ctx context.Context, w *observe.Watcher) (stopped string) {
	y := r.report.Back
	patience := 2*r.plan.TTL + margin
	end := y.Began.Add(r.o.Hold + patience)
	stopped = r.watch(ctx, w, y, func() time.Time { return end }, func(status control.Status, _ observe.Sample) string {
		r.report.Next = r.passing(status)
		if until := r.waits(status).Until; until.Add(patience).After(end) {
			end = until.Add(patience)
		}
		return ""
	})
	if y.moved() {
		r.report.Next = ""
	}
	return stopped
}

// watch takes samples until a way is at its end: every clock has moved, look says
// why not to go on, the time is over, or the context ends.
func (r *rehearsal) watch(ctx context.Context, w *observe.Watcher, y *Way, end func() time.Time, look func(control.Status, observe.Sample) string) (stopped string) {
	settled, silent, heard := 0, false, time.Now()
	w.Run(ctx, r.plan.Every, func(s observe.Sample) bool {
		status, err := r.o.Daemon.Status(ctx, string(r.plan.Name))
		if ctx.Err() != nil {
			return false
		}
		before := y.movedNow()
		r.takeStatus(y, status, err)
		y.take(s, func(reply observe.Reply) bool { return r.arrived(y, reply) }, func(replies []observe.Reply) bool { return r.complete(y, replies) })
		r.noticeMoved(y, before)
		if y.unheard = err != nil; !y.unheard {
			r.takeWait(y, r.waits(status), time.Now())
		}
		if err != nil && !silent {
			r.noticeSilence(y, err)
		}
		silent = err != nil
		switch {
		case err == nil:
			heard, stopped = time.Now(), look(status, s)
		case time.Since(heard) > silence:
			stopped = fmt.Sprintf("the daemon has not answered for %s: %v", silence, err)
		}
		r.sayHowFar(y, end())
		if settled++; !y.moved(observe.Kept) {
			settled = 0
		}
		if settled >= settle && !y.moved() {
			r.retire(w, y)
			settled = 0
		}
		return stopped == "" && settled < settle && time.Now().Before(end())
	})
	y.Took = time.Since(y.Began)
	if ctx.Err() != nil {
		stopped = "interrupted"
	}
	return stopped
}

// retire lets the own kept connection go in order: between two samples no request is
// on it. That of others is not touched.
func (r *rehearsal) retire(w *observe.Watcher, y *Way) {
	kept, next := y.clock(observe.Kept), y.clock(observe.New)
	if kept.Stayed == 0 {
		kept.Let = time.Since(y.Began)
		kept.Stayed = kept.Let - next.After
	}
	w.Retire("it was idle, and new ones had moved")
}

func (r *rehearsal) takeStatus(y *Way, status control.Status, err error) {
	written := y.clock(Written)
	set := r.set(status)
	switch {
	case err != nil: // what it said last stays
		written.Seen = cmp.Or(written.Seen, "the daemon does not answer")
	case set != nil:
		live := observe.View{Outcome: observe.Answered}
		for _, value := range set.Live {
			live.Values = append(live.Values, canonical(value))
		}
		y.note(written, shows(live, y.come, y.gone), time.Now(), strings.Join(set.Live, ","))
	}
}

func (r *rehearsal) set(status control.Status) *control.Record {
	i := slices.IndexFunc(status.Records, func(s control.Record) bool {
		return s.Name == string(r.o.Watch.Name) && s.Type == string(r.o.Watch.Type)
	})
	if i < 0 {
		return nil
	}
	return &status.Records[i]
}

// restFails says which of those that carry the name is not up any more.
func (r *rehearsal) restFails(status control.Status) string {
	set := r.set(status)
	if set == nil {
		return "the daemon does not know the name any more"
	}
	for _, a := range set.Answers {
		if slices.Contains(r.plan.During, a.Value) && a.Verdict == "down" {
			return fmt.Sprintf("%s is down (%s)", a.Value, a.Reason)
		}
	}
	return ""
}

func allFailed(replies []observe.Reply) bool {
	return len(replies) > 0 && !slices.ContainsFunc(replies, func(reply observe.Reply) bool { return failure(reply) == "" })
}

// arrived reports whether a reply came from one of the backends that a way leads to.
// Behind a gateway the identity tells; else the address, and the identity that was
// seen there before the rehearsal.
func (r *rehearsal) arrived(y *Way, reply observe.Reply) bool {
	if failure(reply) != "" {
		return false
	}
	before, known := r.backend[r.at(reply)], !r.o.Watch.Request.Identity.IsZero()
	if r.o.Watch.Request.Via != nil {
		return reply.Identity != "" && (reply.Identity == before) == (y.Direction == Back)
	}
	if r.plan.Type == "CNAME" {
		return r.arrivedByName(y, reply)
	}
	to := slices.ContainsFunc(y.To, func(value string) bool { return addressOf(value) == reply.Address.Addr() })
	return to && (!known || before == "" || reply.Identity == before)
}

// complete reports whether new connections went to every address that comes, where
// addresses tell.
func (r *rehearsal) complete(y *Way, replies []observe.Reply) bool {
	if r.o.Watch.Request.Via != nil {
		return true
	}
	return !slices.ContainsFunc(y.come, func(value string) bool {
		addr := addressOf(value)
		return addr.IsValid() && !slices.ContainsFunc(replies, func(reply observe.Reply) bool { return reply.Address.Addr() == addr })
	})
}

// arrivedByName knows a backend by its identity, and without one by the addresses that
// the name led to before.
func (r *rehearsal) arrivedByName(y *Way, reply observe.Reply) bool {
	_, old := r.backend[reply.Address.Addr().String()]
	if reply.Identity != "" {
		old = slices.Contains(slices.Collect(maps.Values(r.backend)), reply.Identity)
	}
	return old == (y.Direction == Back)
}

// sayHowFar names what has not moved yet, or what it waits for.
func (r *rehearsal) sayHowFar(y *Way, end time.Time) {
	var missing []string
	for _, c := range y.Clocks {
		if word := string(c.Clock); !c.Moved && !slices.Contains(missing, word) {
			missing = append(missing, word)
		}
	}
	what := "all have moved"
	switch {
	case y.Waits() != "":
		what = y.Waits()
	case len(missing) > 0:
		what = "waiting for " + strings.Join(missing, ", ")
	}
	r.progress("way %s, %s, until %s at most: %s", y.Direction, time.Since(y.Began).Round(time.Second), end.Format(time.TimeOnly), what)
}
