package providertest

import (
	"slices"
	"strings"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

func pauseCases() []Case {
	return []Case{
		{"pause/round-trip", "a value that is paused and resumed comes back with its TTL, its sibling never changes", nil, pausesAndResumes},
		{"pause/several", "several values are paused and resumed one after the other or together", nil, pausesSeveral},
		{"pause/foreign-value", "a value in the set that the call does not name stays as it is", nil, pausesBesideForeignValue},
		{"pause/foreign-records", "every other record of the zone stays byte for byte", nil, pausesBesideForeignRecords},
		{"pause/apex", "the apex is paused and resumed like any name", nil, func(e *env) { roundTrip(e, e.key("@", record.A), two, one) }},
		{"pause/wildcard", "a wildcard is paused and resumed like any name", nil, func(e *env) { roundTrip(e, e.key("*.wild", record.A), two, one) }},
		{"pause/root-wildcard", "the wildcard below the apex as well", nil, func(e *env) { roundTrip(e, e.key("*", record.A), two, one) }},
		{"pause/deep-name", "and a name of many labels", nil, func(e *env) { roundTrip(e, e.key("a.b-c._d.e", record.A), two, one) }},
		{"pause/aaaa", "and IPv6 addresses", nil, func(e *env) { roundTrip(e, e.key("www", record.AAAA), "2001:db8::2", "2001:db8::1") }},
		{"pause/two-types", "the paused values of two types of one name do not disturb each other", nil, pausesTwoTypes},
		{"pause/last-when-asked", "a set may be emptied by a call that says so, and is brought back", nil, pausesLastWhenAsked},
		{"pause/other-node", "a pause is readable and resumable by a node with an empty disk", nil, resumesElsewhere},
		{"pause/readable-copy", "a parked copy can be read by people and by any copy of sidestep", parks, readableCopy},
		{"pause/shields-from-wildcard", "a wildcard of the zone does not answer in the place of a paused name", copies, shieldsFromWildcard},
		{"pause/half-way-pause", "a value that is live and has a copy is listed as both, and can be paused", copies, pausesHalfWay},
		{"pause/half-way-resume", "and can be resumed", copies, resumesHalfWay},
		{"pause/unreadable-copy", "a parked copy that cannot be read is kept and never breaks the list", parks, keepsUnreadableCopy},
	}
}

func parks(p provider.Promises) bool  { return p.Pause == provider.PauseParked }
func copies(p provider.Promises) bool { return p.Pause != provider.PauseNative }

func pausesAndResumes(e *env) { roundTrip(e, e.key("www", record.A), one, two) }

// roundTrip pauses and resumes a value beside a survivor.
func roundTrip(e *env, key record.Key, value, survivor string) {
	e.Helper()
	both := []string{min(value, survivor), max(value, survivor)}
	e.put(key, both...)
	e.untouched(key, func() { e.away(key, []string{survivor}, pause(key, value)) })
	e.wantLive(key, survivor)
	e.wantAnswer(key, paused(value))
	e.wantAnswer(key, live(survivor))
	e.untouched(key, func() { e.add(key, resume(key, value)) })
	e.wantLive(key, both...)
	e.wantResumed(key, value)
	e.wantAnswer(key, live(survivor))
}

// wantResumed checks a value that was brought back: a copy of it may stay.
func (e *env) wantResumed(key record.Key, value string) {
	e.Helper()
	got, found := e.list().Set(key).Find(value)
	if !found || !got.Live || got.Held || got.TTL != ttl {
		e.Errorf("%s: the list should say that %s is live with TTL %v, says %+v", key, value, ttl, got)
	}
}

func pausesSeveral(e *env) {
	key := e.key("www", record.A)
	e.put(key, one, two, three)
	e.away(key, []string{three}, pause(key, one), pause(key, two))
	e.wantLive(key, three)
	e.wantAnswer(key, paused(one))
	e.wantAnswer(key, paused(two))
	e.add(key, resume(key, one), resume(key, two))
	e.wantLive(key, one, two, three)
	e.wantResumed(key, one)
	e.wantResumed(key, two)
}

func pausesBesideForeignValue(e *env) {
	key := e.key("www", record.A)
	e.put(key, one, two, three)
	e.away(key, []string{two}, pause(key, one))
	e.wantLive(key, two, three)
	e.wantAnswer(key, live(three))
	e.add(key, resume(key, one))
	e.wantLive(key, one, two, three)
	e.wantAnswer(key, live(three))
}

func pausesBesideForeignRecords(e *env) {
	e.putForeign()
	www, apex := e.key("www", record.A), e.key("@", record.A)
	e.put(www, one, two)
	e.put(apex, one, two)
	for _, key := range []record.Key{www, apex} {
		e.untouched(key, func() {
			e.away(key, []string{two}, pause(key, one))
			e.add(key, create(key, three))
			e.add(key, resume(key, one))
		})
		e.wantLive(key, one, two, three)
	}
}

func pausesTwoTypes(e *env) {
	a, aaaa := e.key("www", record.A), e.key("www", record.AAAA)
	e.put(a, one, two)
	e.put(aaaa, "2001:db8::1", "2001:db8::2")
	e.away(a, []string{two}, pause(a, one))
	e.away(aaaa, []string{"2001:db8::2"}, pause(aaaa, "2001:db8::1"))
	e.wantAnswer(a, paused(one))
	e.wantAnswer(aaaa, paused("2001:db8::1"))
	e.add(a, resume(a, one))
	e.wantLive(a, one, two)
	e.wantAnswer(aaaa, paused("2001:db8::1"))
	e.add(aaaa, resume(aaaa, "2001:db8::1"))
	e.wantLive(aaaa, "2001:db8::1", "2001:db8::2")
}

func pausesLastWhenAsked(e *env) {
	key := e.key("www", record.A)
	e.put(key, one)
	e.away(key, nil, pause(key, one))
	e.wantLive(key)
	e.wantAnswer(key, paused(one))
	e.add(key, resume(key, one))
	e.wantLive(key, one)
	e.wantResumed(key, one)
}

func resumesElsewhere(e *env) {
	key := e.key("www", record.A)
	e.put(key, one, two)
	e.away(key, []string{two}, pause(key, one))
	e.adapter = e.hand.Another()
	e.wantAnswer(key, paused(one))
	e.add(key, resume(key, one))
	e.wantLive(key, one, two)
	e.wantResumed(key, one)
}

func readableCopy(e *env) {
	key := e.key("*.wild", record.A)
	e.put(key, one, two)
	e.away(key, []string{two}, pause(key, one))
	want := provider.Parked{Type: record.A, Value: one, TTL: ttl}
	for _, rr := range e.hand.Dump() {
		got, err := provider.ParseParked(strings.Trim(rr.Data, `"`))
		if record.Name(rr.Name) == provider.ParkedName(key.Name) && err == nil && got.Type == want.Type && got.Value == want.Value && got.TTL == want.TTL {
			return
		}
	}
	e.Errorf("expected a TXT record %s with a text like %q, the zone has %v", provider.ParkedName(key.Name), want, e.everything())
}

// shieldsFromWildcard rests on RFC 4592 section 2.2.2: what is parked below a
// name makes it an empty non-terminal, which exists.
func shieldsFromWildcard(e *env) {
	wild, key := e.key("*", record.A), e.key("www", record.A)
	e.put(wild, three)
	e.put(key, one)
	e.away(key, nil, pause(key, one))
	e.wantLive(key)
	e.add(key, resume(key, one))
	e.wantLive(key, one)
}

// copyByHand leaves the zone as a call does that was cut off half way.
func (e *env) copyByHand(key record.Key, value string) {
	e.Helper()
	rr := RR{Name: string(provider.ParkedName(key.Name)), Type: string(key.Type), TTL: ttl, Data: value}
	if e.promises().Pause == provider.PauseParked {
		rr.Type = "TXT"
		rr.Data = `"` + provider.Parked{Type: key.Type, Value: value, TTL: ttl}.String() + `"`
	}
	e.hand.Put(rr)
	e.settle()
}

func (e *env) halfWay() record.Key {
	e.Helper()
	key := e.key("www", record.A)
	e.put(key, one, two)
	e.copyByHand(key, one)
	both := live(one)
	both.Paused = true
	e.wantAnswer(key, both)
	e.wantAnswer(key, live(two))
	return key
}

func pausesHalfWay(e *env) {
	key := e.halfWay()
	e.away(key, []string{two}, pause(key, one))
	e.wantLive(key, two)
	e.wantAnswer(key, paused(one))
}

func resumesHalfWay(e *env) {
	key := e.halfWay()
	e.add(key, resume(key, one))
	e.wantLive(key, one, two)
	e.wantResumed(key, one)
	e.away(key, []string{two}, pause(key, one))
	e.wantAnswer(key, paused(one))
}

func keepsUnreadableCopy(e *env) {
	key := e.key("www", record.A)
	e.put(key, one, two)
	odd := RR{Name: string(provider.ParkedName(key.Name)), Type: "TXT", TTL: ttl, Data: `"v=sidestep1 type=A value=not-an-address ttl=60"`}
	e.hand.Put(odd)
	e.settle()
	e.away(key, []string{two}, pause(key, one))
	e.wantAnswer(key, paused(one))
	e.add(key, resume(key, one))
	e.wantLive(key, one, two)
	if !slices.ContainsFunc(e.hand.Dump(), func(rr RR) bool { return rr.Name == odd.Name && rr.Data == odd.Data }) {
		e.Errorf("a copy that cannot be read is gone: %s", odd)
	}
}
