package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/health"
	"sidestep/pkg/override"
	"sidestep/pkg/scenario"
)

// outage is how long a target was down, without the time in which that was
// planned: its site was in maintenance, or its answers there were drained.
type outage struct {
	before time.Duration // counted until it was last interrupted
	from   time.Duration // boot time since when it counts; meaningless while it does not
	counts bool
}

func (o *outage) length(now time.Duration) time.Duration {
	if !o.counts {
		return o.before
	}
	return o.before + now - o.from
}

// pause stops the counting, or goes on with it.
func (o *outage) pause(stop bool, now time.Duration) {
	if stop == !o.counts {
		return
	}
	o.before, o.from, o.counts = o.length(now), now, !stop
}

// wait is a site's waiting after a long outage.
type wait struct {
	since  time.Duration // boot time at which it came back
	outage time.Duration
	proved map[string]bool // addresses at which the fresh check has passed since
}

// countOutage begins or ends the outage of a target that sites have answers on.
func (e *Engine) countOutage(t *target, to health.Verdict) {
	for _, s := range t.home() {
		switch {
		case !s.spec.Return.Waits():
		case to == health.Down:
			e.beginOutage(s, t.id.ID(), e.now.Boot)
		case to == health.Up:
			e.endOutage(s, t.id.ID())
		}
	}
}

func (e *Engine) beginOutage(s *site, id string, from time.Duration) {
	if s.outages[id] == nil {
		s.outages[id] = &outage{from: from, counts: true}
		s.outages[id].pause(e.planned(s, id), e.now.Boot)
	}
}

// planned reports whether a target may be down without that being an outage of a
// site: the site is in maintenance, or a drain holds every answer out that rests
// on the target there.
func (e *Engine) planned(s *site, id string) bool {
	if e.maintenanceOf(s) != "" {
		return true
	}
	t := e.targets[id]
	if t == nil {
		return false
	}
	drained := false
	for _, set := range t.sets {
		for i, needs := range set.targets {
			if set.sites[i] != s || !slices.Contains(needs, t) {
				continue
			}
			if w := e.rule(set, i); w == nil || w.Kind != override.Drain {
				return false
			}
			drained = true
		}
	}
	return drained
}

// endOutage ends one outage, and lets the site wait when it was too long.
func (e *Engine) endOutage(s *site, id string) {
	o := s.outages[id]
	if o == nil {
		return
	}
	delete(s.outages, id)
	length := o.length(e.now.Boot)
	if length <= s.spec.Return.AfterOutage {
		return
	}
	before := s.wait
	if before != nil {
		length = max(length, before.outage)
	}
	s.wait = &wait{since: e.now.Boot, outage: length, proved: map[string]bool{}}
	e.outdate(s.sets...)
	for _, address := range s.addresses {
		if fresh := e.targets[check.Target{Check: s.spec.Return.Check, Address: address}.ID()]; fresh != nil {
			e.proveSite(s, fresh)
		}
	}
	if s.wait != nil && before == nil {
		e.tell(Entry{Kind: "site", Target: s.spec.Name, Detail: s.waitWords()})
	}
}

// prove lets a result of a fresh check bear on the sites that wait for it.
func (e *Engine) prove(t *target) {
	for _, s := range t.proves() {
		e.proveSite(s, t)
	}
}

// proveSite looks whether the fresh check of a site that waits has passed at an
// address since the site came back. When it has at all of them, the waiting is
// over.
func (e *Engine) proveSite(s *site, t *target) {
	address, h := t.id.Address, t.health
	if s.wait == nil || s.wait.proved[address] || s.spec.Return.Mode != scenario.Fresh {
		return
	}
	if !h.Seen || h.Is() != health.Up || h.Fails > 0 || h.Judged < s.wait.since {
		return
	}
	s.wait.proved[address] = true
	e.effects.Save = true
	e.outdate(s.sets...)
	if !slices.ContainsFunc(s.addresses, func(a string) bool { return !s.wait.proved[a] }) {
		e.release(s)
	}
}

// release ends the waiting of a site.
func (e *Engine) release(s *site) {
	s.wait, s.released = nil, e.now.Boot
	e.effects.Save = true
	e.outdate(s.sets...)
}

// approveSite is a person's yes to the return of a site.
func (e *Engine) approveSite(name string) bool {
	s := e.site(name)
	if s == nil {
		return false
	}
	switch longest := s.longest(e.now.Boot); {
	case s.wait != nil:
		e.release(s)
	case longest > 0:
		e.effects.Idle = fmt.Sprintf("site %s is still out, for %s so far; say it again when it is back", name, longest.Round(time.Second))
	default:
		e.effects.Idle = fmt.Sprintf("site %s does not wait for approval, and nothing has changed", name)
	}
	return true
}

// longest is the length of the longest outage that is not over.
func (s *site) longest(now time.Duration) time.Duration {
	longest := time.Duration(0)
	for _, o := range s.outages {
		longest = max(longest, o.length(now))
	}
	return longest
}

// waitsFor is what the site waits for before the answer at an address may be
// used, in words; empty when it waits for nothing there.
func (s *site) waitsFor(address string) string {
	if s.wait == nil || s.wait.proved[address] {
		return ""
	}
	return "site " + s.spec.Name + " " + s.waitWords()
}

// waitWords are that with the way on.
func (s *site) waitWords() string { return s.waitReason() + ": sidestep approve " + s.spec.Name }

func (s *site) waitReason() string {
	after := fmt.Sprintf(" after an outage of %s", s.wait.outage.Round(time.Second))
	if s.spec.Return.Mode == scenario.Fresh {
		return fmt.Sprintf("waits for %s to pass, or for approval,%s", s.spec.Return.Check, after)
	}
	return "waits for approval" + after
}

// missOutages begins those outages of targets that are down and of which nothing
// is known: the site, or its return, is new in the config.
func (e *Engine) missOutages() {
	for _, s := range e.scenes.sites {
		if !s.spec.Return.Waits() {
			s.wait, s.outages = nil, map[string]*outage{}
			continue
		}
		for _, id := range slices.Sorted(maps.Keys(s.outages)) {
			if t := e.targets[id]; t == nil || !slices.Contains(t.home(), s) {
				delete(s.outages, id) // no answer rests on it any more
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(e.targets)) {
		t := e.targets[id]
		if t.observed() != health.Down {
			continue
		}
		for _, s := range t.home() {
			if s.spec.Return.Waits() {
				e.beginOutage(s, id, e.boot(t.turnedAt()))
			}
		}
	}
}
