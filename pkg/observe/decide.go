package observe

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Row is one line of the decision table: what is seen in an incident, and where
// to look because of it.
type Row struct{ Seen, Look string }

// The rows of the decision table.
var (
	rowMute      = Row{"a name server gives no answer for the zone", "that server and the way to it: whether it runs, its firewall, whether it has the zone loaded"}
	rowDenied    = Row{"every name server denies the name", "the zone itself: who took the name out, a spelling, another zone of that name"}
	rowResolver  = Row{"the resolver gives no answer", "that resolver: whether it runs, whom it serves, DNSSEC, its own way to the name servers"}
	rowServers   = Row{"name servers of the zone differ", "the transfer between them, or the provider's propagation"}
	rowPath      = Row{"authoritative new, application old", "resolver path and TTL: which resolver it asks, how long its cache holds"}
	rowAge       = Row{"cache new, peer old", "connection age: the pool's lifetime, the old server's keep-alive, a retirement"}
	rowRouting   = Row{"new peer, wrong backend", "gateway routing: the upstreams of what stands between, and when it resolves them"}
	rowNegative  = Row{"repaired, but NXDOMAIN or NODATA", "the negative TTL: the lower of the SOA's TTL and MINIMUM"}
	rowTransport = Row{"resolved, but no connection", "transport, TLS, deadlines: firewall, certificate, time limits"}
)

// Table lists the rows of the decision table in the order in which a change
// passes what they name.
func Table() []Row {
	return []Row{rowMute, rowServers, rowDenied, rowResolver, rowPath, rowNegative, rowAge, rowRouting, rowTransport}
}

// Finding is a row of the decision table that fits what was seen, with the
// facts that it fits.
type Finding struct {
	Row
	Facts string
}

// Findings are the rows that fit the last sample, in the order of Table. They
// say where to look, and are no verdict: what was not looked at, they do not
// know.
func (t *Timeline) Findings() []Finding {
	if len(t.Samples) == 0 {
		return nil
	}
	s := t.Samples[len(t.Samples)-1]
	var found []Finding
	add := func(row Row, facts string) {
		if facts != "" {
			found = append(found, Finding{row, facts})
		}
	}
	add(rowMute, s.serversMute())
	add(rowServers, s.serversDiffer())
	add(rowDenied, s.serversDeny())
	add(rowResolver, s.resolverMute())
	add(rowPath, s.cacheOld())
	add(rowNegative, s.cacheDenies())
	add(rowAge, s.peerOld()+t.keptBehind()) // at another address, or at the same one
	add(rowRouting, t.backendOld())
	add(rowTransport, s.unreached())
	return found
}

// agreed is the answer of all name servers of the zone that told one, if that
// is one answer.
func (s Sample) agreed() (View, bool) {
	told := slices.DeleteFunc(slices.Clone(s.Servers), func(v View) bool { return !v.Outcome.Told() })
	if len(told) == 0 || slices.ContainsFunc(told, func(v View) bool { return !v.same(told[0]) }) {
		return View{}, false
	}
	return told[0], true
}

// serversMute names the servers that told nothing, whatever the others did.
func (s Sample) serversMute() string {
	var words []string
	for _, v := range s.Servers {
		if !v.Outcome.Told() {
			words = append(words, fmt.Sprintf("%s: %s", v.Server, v.saidNo()))
		}
	}
	return strings.Join(words, "; ")
}

func (s Sample) serversDeny() string {
	zone, ok := s.agreed()
	if !ok || !zone.Outcome.Negative() {
		return ""
	}
	return "they answer " + zone.Said()
}

func (s Sample) resolverMute() string {
	if v := s.Resolver; v.Outcome != "" && !v.Outcome.Told() {
		return fmt.Sprintf("resolver %s: %s", v.Server, v.saidNo())
	}
	return ""
}

func (s Sample) serversDiffer() string {
	groups := map[string][]string{}
	var order []string
	for _, v := range s.Servers {
		if !v.Outcome.Told() {
			continue
		}
		if said := v.Said(); groups[said] == nil {
			order = append(order, said)
		}
		groups[v.Said()] = append(groups[v.Said()], v.Server.String())
	}
	if len(order) < 2 {
		return ""
	}
	words := make([]string, len(order))
	for i, said := range order {
		words[i] = strings.Join(groups[said], ", ") + " answers " + said
	}
	return strings.Join(words, "; ")
}

func (s Sample) cacheOld() string {
	zone, ok := s.agreed()
	cache := s.Resolver
	if !ok || zone.Outcome != Answered || cache.Outcome != Answered || len(zone.Values) == 0 || slices.Equal(zone.Values, cache.Values) {
		return ""
	}
	return fmt.Sprintf("the zone answers %s, resolver %s still %s, %s", zone.Said(), cache.Server, cache.Said(), cache.more())
}

func (s Sample) cacheDenies() string {
	zone, ok := s.agreed()
	cache := s.Resolver
	if !ok || zone.Outcome != Answered || !cache.Outcome.Negative() {
		return ""
	}
	return fmt.Sprintf("the zone answers %s, resolver %s still %s, %s", zone.Said(), cache.Server, cache.Said(), cache.more())
}

// more says for how long a cache holds what it answers.
func (v View) more() string {
	switch {
	case v.Untold:
		return "for a time that it does not tell (there is no SOA)"
	case v.TTL == 0 && v.Outcome.Negative():
		return "for less than a second more"
	}
	return fmt.Sprintf("for %s more", v.TTL)
}

// peerOld compares the kept connection with the addresses that new ones go to.
func (s Sample) peerOld() string {
	if s.Kept == nil || !s.Kept.Connected() || !s.Kept.Reached() || s.Resolver.Outcome != Answered {
		return ""
	}
	var to []string
	for _, r := range s.New {
		if !r.Address.IsValid() || r.Address == s.Kept.Address {
			return ""
		}
		to = append(to, r.Address.Addr().String())
	}
	if len(to) == 0 {
		return ""
	}
	age := s.Kept.At.Sub(s.Kept.Opened).Round(time.Second)
	return fmt.Sprintf("the kept connection, open for %s, still leads to %s; new ones go to %s", age, s.Kept.Address.Addr(), strings.Join(to, ", "))
}

// keptBehind finds a kept connection whose peer stays where new ones go, and that
// still reaches the backend which new ones reached before the name moved.
func (t *Timeline) keptBehind() string {
	first, last := t.Samples[0], t.Samples[len(t.Samples)-1]
	if !t.moved() || last.Kept == nil || !last.Kept.Reached() || last.Kept.Identity == "" || len(last.New) == 0 {
		return ""
	}
	isOld := func(r Reply) bool { return r.Identity == last.Kept.Identity }
	if !slices.ContainsFunc(first.New, isOld) || slices.ContainsFunc(last.New, func(r Reply) bool {
		return r.Identity == "" || isOld(r) || r.Address != last.Kept.Address
	}) {
		return ""
	}
	age := last.Kept.At.Sub(last.Kept.Opened).Round(time.Second)
	return fmt.Sprintf("the kept connection, open for %s, still leads to %s; new ones to %s", age, last.Kept.Says(), SaysAll(last.New))
}

// moved reports whether the name has left all addresses that it had at first.
func (t *Timeline) moved() bool {
	first, last := t.Samples[0].Resolver, t.Samples[len(t.Samples)-1].Resolver
	return first.Outcome == Answered && last.Outcome == Answered && !sharesValue(first.Values, last.Values)
}

// backendOld finds a backend that answers though the name moved away from it:
// at an address that it did not have when the watch began, or through a way
// whose address stayed.
func (t *Timeline) backendOld() string {
	first, last := t.Samples[0], t.Samples[len(t.Samples)-1]
	if !t.moved() {
		return ""
	}
	before := map[string]netip.Addr{}
	for _, r := range first.New {
		if r.Identity != "" {
			before[r.Identity] = r.Address.Addr()
		}
	}
	for _, r := range last.New {
		if old, known := before[r.Identity]; known && r.Identity != "" {
			if old == r.Address.Addr() {
				return fmt.Sprintf("the name moved from %s to %s, and behind %s it is still %s", first.Resolver.Said(), last.Resolver.Said(), old, r.Identity)
			}
			return fmt.Sprintf("%s answers at %s as it did at %s", r.Identity, r.Address.Addr(), old)
		}
	}
	return ""
}

func sharesValue(a, b []string) bool {
	return slices.ContainsFunc(a, func(v string) bool { return slices.Contains(b, v) })
}

func (s Sample) unreached() string {
	if s.Resolver.Outcome != Answered {
		return ""
	}
	var words []string
	for _, r := range s.New {
		if r.Address.IsValid() && !r.Reached() {
			words = append(words, fmt.Sprintf("%s: %s/%s %s", r.Address.Addr(), r.Phase, r.Cause, r.Detail))
		}
	}
	return strings.Join(words, "; ")
}
