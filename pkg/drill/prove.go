package drill

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/observe"
	"sidestep/pkg/record"
)

// prove looks at the name as its users do, before anything is touched: the name
// servers and the resolver give what is live, requests are answered, and what is to
// carry the name serves the same URL, with a certificate that holds. It also works
// out the times.
func (r *rehearsal) prove(ctx context.Context, w *observe.Watcher) (observe.Sample, error) {
	first := w.Sample(ctx)
	if ctx.Err() != nil {
		return first, context.Cause(ctx)
	}
	for _, v := range append(slices.Clone(first.Servers), first.Resolver) {
		if v.Outcome.Told() && !shows(v, r.plan.Before, nil) {
			return first, r.refuse(control.ExitFailure, "wait for a TTL, or see: sidestep observe "+r.plan.Name.Unrooted(),
				"%s answers %s, and live is %s: what it shows cannot be told from the rehearsal", v.Server, v.Said(), strings.Join(r.plan.Before, ", "))
		}
	}
	if gaps := first.Gaps(); len(gaps) > 0 {
		return first, r.refuse(control.ExitFailure, "see: sidestep observe "+r.plan.Name.Unrooted(), "it cannot be watched as it is: %s", strings.Join(gaps, "; "))
	}
	if err := r.proveRequests(ctx, first); err != nil {
		return first, err
	}
	return first, r.times(first)
}

// times are worked out from the TTL that the name servers tell, or where none is
// asked what is left of it in the cache.
func (r *rehearsal) times(s observe.Sample) error {
	r.plan.TTL = s.Resolver.TTL
	for _, v := range s.Servers {
		r.plan.TTL = max(r.plan.TTL, v.TTL)
	}
	r.plan.Every = min(longestEvery, max(shortestEvery, r.plan.TTL/20))
	enough := (2*r.plan.TTL + r.waiting + margin).Round(time.Second)
	switch {
	case r.plan.For == 0:
		r.plan.For = enough
	case r.plan.For <= r.plan.TTL+r.waiting:
		return r.refuse(control.ExitUsage, fmt.Sprintf("give --for %s or more", enough),
			"the write may wait for %s, caches keep the answer for %s, and the drill would be over after %s", r.waiting.Round(time.Second), r.plan.TTL, r.plan.For)
	}
	return nil
}

// proveRequests looks at the answers to requests, and who made them.
func (r *rehearsal) proveRequests(ctx context.Context, first observe.Sample) error {
	request := r.o.Watch.Request
	if request == nil {
		return nil
	}
	for _, reply := range append(slices.Clone(first.New), *first.Kept) {
		if why := failure(reply); why != "" {
			return r.refuse(control.ExitFailure, "see: sidestep observe "+r.plan.Name.Unrooted(), "requests fail already: %s", why)
		}
		r.backend[r.at(reply)] = reply.Identity
	}
	if request.Via != nil {
		if len(r.plan.Before) > 1 {
			return r.refuse(control.ExitUsage, "leave --via out", "through a gateway the backends are told apart by their identity alone, and it answers with several")
		}
		return nil
	}
	for _, value := range r.plan.During {
		if err := r.proveCarrier(ctx, value); err != nil {
			return err
		}
	}
	return nil
}

// proveCarrier sends a request to an answer that is to carry the name, past the
// DNS: Host, SNI and certificate name are those of the URL.
func (r *rehearsal) proveCarrier(ctx context.Context, value string) error {
	addr := addressOf(value)
	if !addr.IsValid() {
		return nil // a name, which the resolver is not asked for
	}
	options, request := r.o.Watch, *r.o.Watch.Request
	via, err := observe.ParseVia("tcp://" + net.JoinHostPort(value, fmt.Sprint(request.HTTP.Port)))
	if err != nil {
		return fmt.Errorf("drill %s: %w", r.plan.Name.Unrooted(), err)
	}
	request.Via, options.Request = via, &request
	options.Servers = nil
	var reply observe.Reply
	err = observe.Watch(options, func(w *observe.Watcher) error {
		reply = w.Sample(ctx).New[0]
		return nil
	})
	if ctx.Err() != nil || err != nil {
		return context.Cause(ctx)
	}
	if why := failure(reply); why != "" {
		return r.refuse(control.ExitGuard, "see: sidestep check "+value, "the rest is not healthy enough: %s", why)
	}
	for at, identity := range r.backend {
		if identity != "" && identity == reply.Identity && at != value {
			return r.refuse(control.ExitUsage, "give an --identity that differs from backend to backend", "%s and %s both say that they are %q", at, value, identity)
		}
	}
	r.backend[value] = reply.Identity
	return nil
}

// at is who a reply is from: the address of it, and through a gateway, whose address
// is always the same, nothing.
func (r *rehearsal) at(reply observe.Reply) string {
	if r.o.Watch.Request.Via != nil {
		return ""
	}
	return reply.Address.Addr().String()
}

// failure says why a request counts as failed: no answer, or one of 500 and above,
// by which a server says that it could not. Empty when it did not fail.
func failure(reply observe.Reply) string {
	to := ""
	if reply.Address.IsValid() {
		to = reply.Address.Addr().String() + ": "
	}
	switch {
	case !reply.Reached():
		return fmt.Sprintf("%s%s/%s %s", to, reply.Phase, reply.Cause, reply.Detail)
	case reply.Status >= 500:
		return fmt.Sprintf("%sstatus %d", to, reply.Status)
	}
	return ""
}

// shows reports whether a view has all of some values and none of others.
func shows(v observe.View, all, none []string) bool {
	if v.Outcome != observe.Answered || len(v.Values) == 0 {
		return false
	}
	has := func(value string) bool { return slices.Contains(v.Values, canonical(value)) }
	return !slices.ContainsFunc(all, func(value string) bool { return !has(value) }) && !slices.ContainsFunc(none, has)
}

// canonical is a value as name servers are shown to answer it.
func canonical(value string) string {
	if addr := addressOf(value); addr.IsValid() {
		return addr.String()
	}
	if name, err := record.ParseName(value); err == nil {
		return string(name)
	}
	return value
}
