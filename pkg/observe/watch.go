package observe

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/record"
)

// maxDialled is how many addresses of one answer get a request of their own.
const maxDialled = 8

// Options say what is looked at, and how.
type Options struct {
	Name      record.Name
	Type      record.Type      // record.A, record.AAAA or record.CNAME
	Servers   []Server         // the authoritative ones, as of FindServers; none looks at none
	Resolvers []netip.AddrPort // in their order, the first that tells is believed; at least one
	Request   *Request         // nil makes none
	Loopback  bool             // addresses of this machine are dialled: in a lab, or where the config has them
	Timeout   time.Duration    // for each question and each request, connection included; 0 stands for 5 s
	Keep      netip.Addr       // of several addresses the one that the kept connection is opened to first; the zero Addr takes their order
}

// Sample is what was seen at one moment: everything is looked at side by side,
// and each part says how long it took.
type Sample struct {
	At       time.Time // when it began
	Took     time.Duration
	Servers  []View // as Options.Servers
	Resolver View
	Kept     *Reply   // the request on the kept connection; nil where none is made
	New      []Reply  // a request on a new connection to each address, in their order; one with a Via
	Refused  []string // what was not dialled, and why
	Late     []Late   // of Follow: the clocks that are still waited for
}

// Watcher takes samples, one at a time. Between two of them it keeps one
// connection open and nothing else.
type Watcher struct {
	o    Options
	kept *link
	was  *End // how Retire ended the last one, until a sample has told it
}

// Watch makes a Watcher for as long as use runs. What it holds, the kept
// connection, ends when use returns, and the error is that of use.
func Watch(o Options, use func(*Watcher) error) error {
	w := &Watcher{o: o}
	if w.o.Timeout <= 0 {
		w.o.Timeout = budget
	}
	defer w.Retire("the watch is over")
	return use(w)
}

// Run takes a sample at once and then every so often, hands each to each, and
// ends when that says false or the context ends: a sample that the context cut
// short is not handed over. Everything in a sample is of one moment: one that takes
// longer than the interval lets the next one begin late; none are made up for.
func (w *Watcher) Run(ctx context.Context, every time.Duration, each func(Sample) (more bool)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		s := w.Sample(ctx)
		if ctx.Err() != nil || !each(s) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Retire closes the kept connection in order, as a client does that has read
// that it should move; the next sample opens another one and says so.
func (w *Watcher) Retire(why string) {
	if w.kept == nil {
		return
	}
	w.kept.look()
	w.kept.close(ByUs, why)
	w.was, w.kept = w.kept.end, nil
}

// Sample looks at everything once. It takes at most three times Options.Timeout:
// the requests wait for the resolver's answer, and a request on the kept connection
// that the server ends instead of an answer is made again.
func (w *Watcher) Sample(ctx context.Context) Sample {
	s, _ := w.sample(ctx)
	return s
}

func (w *Watcher) sample(ctx context.Context) (s Sample, to way) {
	s = Sample{At: time.Now(), Servers: make([]View, len(w.o.Servers))}
	var all sync.WaitGroup
	for i, server := range w.o.Servers {
		all.Go(func() { s.Servers[i] = w.lookAt(ctx, server) })
	}
	way := w.way(ctx, &s)
	if w.o.Request != nil {
		all.Go(func() { s.Kept = w.askKept(ctx, way) })
		s.New = w.askNew(ctx, way)
	}
	all.Wait()
	s.Took = time.Since(s.At)
	return s, way
}

func (w *Watcher) lookAt(ctx context.Context, server Server) View {
	ctx, cancel := context.WithTimeout(ctx, w.o.Timeout)
	defer cancel()
	return lookAt(ctx, server, w.o.Name, w.o.Type)
}

// way is where requests go at one moment.
type way struct {
	to    []netip.AddrPort
	fault *fault // why they go nowhere
}

// noAddress begins why requests go nowhere when the resolver is the reason.
const noAddress = "the resolver gave no address: "

// way asks the resolver, and finds out where that leads. A proxy or gateway is
// found by its own name.
func (w *Watcher) way(ctx context.Context, s *Sample) way {
	ctx, cancel := context.WithTimeout(ctx, w.o.Timeout)
	defer cancel()
	var addresses []string
	s.Resolver, addresses = lookThrough(ctx, w.o.Resolvers, w.o.Name, w.o.Type)
	switch {
	case w.o.Request == nil:
		return way{}
	case w.o.Request.Via != nil:
		return w.o.Request.Via.way(ctx)
	}
	var out way
	out.to, s.Refused = dialled(addresses, w.o.Request.HTTP.Port, w.o.Loopback)
	if left := len(out.to) - maxDialled; left > 0 {
		out.to = out.to[:maxDialled]
		s.Refused = append(s.Refused, fmt.Sprintf("%d more addresses are not dialled, as %d at most are", left, maxDialled))
	}
	if len(out.to) == 0 {
		out.fault = &fault{check.PhaseResolve, check.CauseUnreachable, noAddress + s.Resolver.saidNo()}
		if len(s.Refused) > 0 {
			out.fault.detail = clean(strings.Join(s.Refused, "; "))
		}
		if !s.Resolver.Outcome.Told() {
			out.fault.cause = check.CauseLocal
		}
	}
	return out
}

func (v *Via) way(ctx context.Context) way {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", v.host)
	if err != nil || len(found) == 0 {
		return way{fault: &fault{check.PhaseResolve, check.CauseLocal, clean(fmt.Sprintf("%s is not found: %v", v, err))}}
	}
	return way{to: []netip.AddrPort{netip.AddrPortFrom(found[0].Unmap(), v.port)}}
}

// askNew makes a request on a new connection to each address, side by side.
func (w *Watcher) askNew(ctx context.Context, way way) []Reply {
	if way.fault != nil {
		r := Reply{At: time.Now()}
		r.failed(way.fault)
		return []Reply{r}
	}
	replies := make([]Reply, len(way.to))
	var all sync.WaitGroup
	for i, address := range way.to {
		all.Go(func() {
			replies[i] = Reply{At: time.Now(), Address: address}
			ctx, cancel := context.WithTimeout(ctx, w.o.Timeout)
			defer cancel()
			if l := w.openFor(ctx, address, &replies[i]); l != nil {
				w.askOver(ctx, l, &replies[i])
				l.close(ByUs, "it was for one request")
			}
		})
	}
	all.Wait()
	return replies
}

// askKept makes a request on the kept connection. Where that has ended, or the
// server ends it instead of an answer, the request goes over another one, as
// clients do.
func (w *Watcher) askKept(ctx context.Context, way way) *Reply {
	at := time.Now()
	if w.kept != nil && w.kept.look() == nil {
		r := &Reply{At: at, Address: w.kept.address}
		part, cancel := context.WithTimeout(ctx, w.o.Timeout)
		w.askOver(part, w.kept, r)
		cancel()
		end := w.kept.look()
		if r.Reached() || end == nil || end.By == ByUs {
			r.Ended = w.lost()
			return r
		}
	}
	r := &Reply{At: at, Ended: w.was}
	if w.was = nil; r.Ended == nil {
		r.Ended = w.lost()
	}
	ctx, cancel := context.WithTimeout(ctx, w.o.Timeout) // of its own: what the old one used up is no fault of the new one
	defer cancel()
	w.reopen(ctx, way, r)
	if end := w.lost(); end != nil && r.Ended == nil {
		r.Ended = end
	}
	return r
}

// lost lets the kept connection go if it has ended, and says how.
func (w *Watcher) lost() *End {
	if w.kept == nil {
		return nil
	}
	end := w.kept.look()
	if end != nil {
		w.kept = nil
	}
	return end
}

// reopen opens the kept connection to the first address that takes one, with the one
// that was asked for before the others.
func (w *Watcher) reopen(ctx context.Context, way way, r *Reply) {
	if way.fault != nil {
		r.failed(way.fault)
		return
	}
	to := slices.Clone(way.to)
	if i := slices.IndexFunc(to, func(a netip.AddrPort) bool { return a.Addr() == w.o.Keep }); i > 0 {
		to[0], to[i] = to[i], to[0]
	}
	for i, address := range to {
		part, cancel := context.WithTimeout(ctx, remaining(ctx)/time.Duration(len(to)-i))
		l := w.openFor(part, address, r)
		cancel()
		if l != nil {
			w.kept = l
			w.askOver(ctx, l, r)
			return
		}
	}
}

// openFor opens a connection for a reply, or says in it why there is none.
func (w *Watcher) openFor(ctx context.Context, address netip.AddrPort, r *Reply) *link {
	r.Address = address
	l, f := w.o.Request.open(ctx, address)
	if f != nil {
		r.failed(f)
		r.Took = time.Since(r.At)
		return nil
	}
	return l
}

// askOver makes one request over a connection.
func (w *Watcher) askOver(ctx context.Context, l *link, r *Reply) {
	r.Phase, r.Cause, r.Detail = "", "", ""
	r.Opened = l.opened
	f := l.ask(ctx, w.o.Request, r)
	r.Took = time.Since(r.At)
	if f == nil {
		return
	}
	f.detail = w.o.Request.mask(f.detail)
	r.failed(f)
	l.failed(ctx, f)
}

func (r *Reply) failed(f *fault) {
	r.Phase, r.Cause, r.Detail = f.phase, f.cause, f.detail
}
