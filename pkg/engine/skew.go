package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/plan"
)

// manyClocks is how many addresses with a certificate that is not valid now
// speak against this machine's clock and not against the certificates.
const manyClocks = 2

// clockCalm is for how long nothing has to speak against the clock before the
// journal says so: one target of several that passes now and then would have it
// say both again and again.
const clockCalm = time.Minute

// skew is what speaks against this machine's clock.
type skew struct {
	early bool           // it is before the time of the build
	at    map[string]int // by address: targets whose latest result a wrong clock would explain
	on    bool           // the guard is on
	off   time.Duration  // boot time since which it is not
	told  bool           // the journal says that it is on
}

// watchClock sees whether the clock can be right. It runs before an event is
// looked at.
func (e *Engine) watchClock() {
	was := e.skew.early
	e.skew.early = e.now.Wall.Before(e.config.Built)
	if was && !e.skew.early {
		e.timeWords()
	}
	e.turnClock()
}

// doubtClock makes a failure unknown that may be the fault of this machine's
// clock.
func (e *Engine) doubtClock(t *target, r check.Result) check.Result {
	if r.Outcome == check.Unknown {
		return r
	}
	wrong := r.Outcome == check.Fail && r.Clock
	if was := t.before != nil; was != wrong {
		t.before = nil
		if wrong {
			before := t.health
			t.before = &before
		}
		e.skew.add(t)
		e.turnClock()
	}
	if wrong && e.skew.on {
		r.Outcome = check.Unknown
		r.Detail = "not counted, for this machine's clock may be wrong: " + r.Detail
		r.Detail = r.Detail[:min(len(r.Detail), check.MaxDetail)]
	}
	return r
}

// add takes over whether a target's latest result speaks against the clock.
func (s *skew) add(t *target) {
	if s.at == nil {
		s.at = map[string]int{}
	}
	if t.before != nil {
		s.at[t.id.Address]++
		return
	}
	if s.at[t.id.Address]--; s.at[t.id.Address] <= 0 {
		delete(s.at, t.id.Address)
	}
}

// turnClock switches the guard on or off, and tells of it.
func (e *Engine) turnClock() {
	s := &e.skew
	switch on := s.early || len(s.at) >= manyClocks; {
	case on && !s.on:
		s.on = true
		e.distrustClock()
	case !on && s.on:
		s.on, s.off = false, e.now.Boot
	}
	switch {
	case s.on && !s.told:
		s.told = true
		e.tell(Entry{Kind: "guard", Target: "clock", Guard: plan.GuardClock, Detail: e.clockDoubt()})
	case reached(s.due(), e.now.Boot):
		s.told = false
		e.tell(Entry{Kind: "guard", Target: "clock", Guard: plan.GuardClock, Detail: "nothing speaks against this machine's clock any more: certificates count again"})
	}
}

// due is the boot time at which the end of the guard is to be told; 0 for never.
func (s *skew) due() time.Duration {
	if s.on || !s.told {
		return 0
	}
	return s.off + clockCalm
}

// distrustClock takes back what was counted of the first target before the second
// said the same, unless it turned a verdict: in doubt everything stays as it is.
func (e *Engine) distrustClock() {
	e.mass.cleared = true
	for _, t := range e.targets {
		if t.before != nil && t.health.Is() == t.before.Is() {
			t.health, t.sight = *t.before, nil
			e.touch(t)
		}
	}
}

// clockDoubt is what speaks against the clock, and the way on; empty when
// nothing does.
func (e *Engine) clockDoubt() string {
	const remedy = "look at the clock: timedatectl, chronyc tracking; to set it: timedatectl set-ntp true"
	now := e.now.Wall.UTC().Format(time.RFC3339)
	switch {
	case !e.skew.on:
		return ""
	case e.skew.early:
		return fmt.Sprintf("this machine's clock says %s, and this sidestep was built at %s: certificates that are not valid at this time count as unknown; %s",
			now, e.config.Built.UTC().Format(time.RFC3339), remedy)
	}
	return fmt.Sprintf("certificates at %d addresses (%s) are not valid at %s, the time of this machine: they count as unknown, because its clock may be wrong; %s. If it is right, renew them",
		len(e.skew.at), someOf(slices.Sorted(maps.Keys(e.skew.at))), now, remedy)
}

// someOf names the first few of a list.
func someOf(list []string) string {
	const most = 5
	if more := len(list) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), more)
	}
	return strings.Join(list, ", ")
}
