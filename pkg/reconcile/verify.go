package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// How the name servers are asked after a write: again and again, since they may
// be told of the change late, until they answer as the list says or time is up.
const (
	verifyFor  = 10 * time.Second
	verifyWait = 20 * time.Millisecond
	verifyMax  = time.Second
)

// verify compares the name servers with the list, for the record sets that were
// written by this round or by one before that did not come to it. What a guard
// stopped is no part of that, and where it stopped everything nothing is verified.
// Where nobody waits for the answer the servers are asked after the round, see late:
// a server that lags or is out of reach must hold up neither the next failover nor
// the word that this one is done. Else it gives way to newer work.
func (r *round) verify(ctx context.Context) {
	if r.orders.asked {
		r.renewLate() // who waits is told of what was written before, too
	}
	r.report.Asked = len(r.unverified) > 0
	r.report.Verified = r.current.InSync() || r.report.Asked && !r.current.Pending()
	if !r.report.Verified && r.report.Detail == "" {
		r.report.Detail = unwritten(r.current)
	}
	if !r.report.Asked {
		return
	}
	keys, left := r.askable()
	q := &inquiry{keys: keys, since: maps.Clone(r.unverified), wanted: func(key record.Key) []string { return r.snapshot.Set(key).Live() }}
	if r.runs && !r.orders.asked && r.report.Verified && len(keys) > 0 && r.asksServers() {
		r.late = newLate(q, left, r.options.Clock.Boot())
		r.report.Asked, r.report.Verified, r.report.Detail = false, false, "the name servers were not asked yet"
		clear(r.unverified)
		return
	}
	err := r.inquire(ctx, q, verifyFor)
	if ctx.Err() != nil { // our own end says nothing about the name servers
		r.report.Asked, r.report.Verified = false, false
		r.report.Detail = "stopped before the name servers had answered"
		return
	}
	r.report.Heard = q.heard()
	switch {
	case err != nil && r.report.Verified:
		r.report.Verified, r.report.Detail = false, err.Error()
	case len(q.servers) == 0 && len(keys) > 0 && r.report.Verified:
		r.report.Detail = "by listing the zone only: there is no name server to ask"
	case len(left) > 0 && r.report.Verified:
		r.report.Detail = strings.Join(left, "; ")
	}
	r.keepBehind(q)
	if errors.Is(err, ErrGaveWay) {
		return
	}
	if q.lags() {
		r.late = newLate(q, left, r.options.Clock.Boot())
		r.late.told = true
		r.late.rest(r.options.Clock.Boot())
		if r.runs {
			r.report.AskedUntil = r.late.until
		}
	}
	clear(r.unverified)
}

// unwritten is why a zone is not as wanted after a round without an error.
func unwritten(p plan.Plan) string {
	switch {
	case p.Pending():
		return "the zone is not as wanted yet"
	case len(p.Changes()) == 0 && len(p.Blocked) > 0:
		return p.Blocked[0].Detail // what was asked for beside
	}
	return "guards stop all that is left to write"
}

// askable are the record sets that were written, but for those of which a name
// server need not answer with what is in the zone; and why those are left out, a
// line for each reason.
func (r *round) askable() (keys []record.Key, left []string) {
	reasons := map[string]string{}
	for _, key := range slices.SortedFunc(maps.Keys(r.unverified), record.Key.Compare) {
		why := r.unaskable(key)
		switch {
		case why == "":
			keys = append(keys, key)
		case reasons[why] == "":
			reasons[why] = key.String()
		default:
			reasons[why] += ", " + key.String()
		}
	}
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		left = append(left, fmt.Sprintf("%s by listing the zone only: %s", reasons[why], why))
	}
	return keys, left
}

// unaskable is why no name server need answer with what the zone has under a key;
// empty when they all have to.
func (r *round) unaskable(key record.Key) string {
	set := r.snapshot.Set(key)
	proxied := func(a record.Answer) bool { return a.Live && a.Proxied }
	switch s, found := r.current.Find(key); {
	case found && !s.Plain():
		return "what a name server answers depends on weights, or on who asks"
	case slices.ContainsFunc(set.Answers, proxied):
		return "it is proxied, so that name servers answer with the provider's own addresses"
	case key.Type == record.CNAME && key.Name == key.Zone:
		return "at the apex of a zone the provider answers with the addresses instead of the CNAME"
	}
	return ""
}

// inquire asks every server side by side for each record set, until all agree, the
// time for asking is up, or newer work for the zone comes. To find them takes what is
// left of verifyFor.
func (w *worker) inquire(ctx context.Context, q *inquiry, limit time.Duration) error {
	if len(q.keys) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, verifyFor)
	defer cancel()
	servers, err := w.servers(ctx)
	if errors.Is(err, ErrGaveWay) {
		return err
	}
	w.hear(q, servers)
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	if err := w.askEach(ctx, q, func(ctx context.Context, h *hearing) { w.askAgain(ctx, q, h) }); err != nil {
		return err
	}
	return together(err, verdict(q.heard()))
}

// asksServers reports whether there is anybody to ask after a write, or may be.
func (w *worker) asksServers() bool {
	if w.zone.NoDNS || w.options.Ask == nil {
		return false
	}
	own, knows := w.zone.Adapter.(provider.Authoritative)
	return len(w.zone.Servers) > 0 || knows && len(own.Servers()) > 0 || w.zone.Find && w.options.Find != nil
}

// servers lists who is asked after a write: those of the config; else those that
// the adapter knows, and those that the zone's NS records lead to, where these are
// to be looked for. It is nobody when only listing is wanted.
func (w *worker) servers(ctx context.Context) ([]Server, error) {
	if w.zone.NoDNS || w.options.Ask == nil {
		return nil, nil
	}
	own := w.zone.Servers
	if a, ok := w.zone.Adapter.(provider.Authoritative); ok && len(own) == 0 {
		own = a.Servers()
	}
	var list []Server
	for _, addr := range own {
		list = append(list, Server{Addr: addr})
	}
	if !w.zone.Find || w.options.Find == nil || len(w.zone.Servers) > 0 {
		return list, nil
	}
	found, err := w.find(ctx)
	for _, s := range found {
		i := slices.IndexFunc(list, func(o Server) bool { return o.Addr == s.Addr })
		if i >= 0 {
			list[i] = s
		} else {
			list = append(list, s)
		}
	}
	return list, err
}

// foundFor is how long the name servers that were found are believed to be the
// zone's: they change by the day and not by the minute.
const foundFor = time.Hour

// find looks for the name servers of the zone, or remembers them. It gives way like
// all that follows a write.
func (w *worker) find(ctx context.Context) ([]Server, error) {
	now := w.options.Clock.Boot()
	if len(w.found) > 0 && now < w.foundAt+foundFor {
		return w.found, nil
	}
	var found []Server
	var err error
	if gaveWay := w.yielding(ctx, func(ctx context.Context) { found, err = w.options.Find(ctx, w.zone.Name) }); gaveWay != nil {
		return nil, gaveWay
	}
	if err != nil {
		return nil, fmt.Errorf("not all name servers were asked: %w; list them in verify.servers of the zone, or say verify: {dns: false}", err)
	}
	w.found, w.foundAt = found, now
	return found, nil
}
