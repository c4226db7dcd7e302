package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/health"
	"sidestep/pkg/record"
)

// Hold says until when nothing may be sent to a target. The first probe goes out
// then, and the others follow at the interval. Until is a boot time; 0, or one
// that has passed, lets the target go at its next slot.
type Hold struct {
	Target check.Target
	Until  time.Duration
}

// Never is the end of a hold that no time ends: 146 years after the boot.
const Never = time.Duration(1 << 62)

// cooldown is what is remembered of one target's pauses, and what the schedule
// was told of them.
type cooldown struct {
	health.Cooldown
	told  time.Duration // the hold that was told last; 0 for none
	noted bool          // is in Engine.resting
}

// pauses is the cooldown of the target's check, nil where there is none.
func (e *Engine) pauses(t *target) *check.Cooldown {
	if e.config.NoCooldown {
		return nil
	}
	return t.spec.Cooldown
}

// resting reports whether a result of the target counts for nothing, because
// nothing should have been asked of it: the probe was under way when its pause
// began, or it is disabled.
func (t *target) resting(r check.Result) bool {
	if t.cool == nil {
		return t.health.Disabled
	}
	return t.health.Disabled || r.Start < t.cool.Until && t.health.Is() == health.Down && !t.starved()
}

// rest follows a target's health into its cooldown, after a result that counted
// or a word of the canary. The last probe that counts was over at end.
func (e *Engine) rest(t *target, before health.State, end time.Duration) {
	rule, now := e.pauses(t), t.health
	isDown, wasDown := now.Is() == health.Down, before.Is() == health.Down
	if t.cool == nil {
		if !isDown || rule == nil && !now.Disabled {
			return
		}
		t.cool = &cooldown{}
	}
	c := t.cool
	switch {
	case rule == nil:
	case isDown && !wasDown:
		c.Cooldown = c.Fell(*rule, end, e.chance(t))
	case !isDown && wasDown:
		c.Cooldown = c.Rose(e.now.Boot)
	case isDown && now.Fails > before.Fails && !t.starved():
		c.Cooldown = c.Failed(*rule, end, e.chance(t))
	case !isDown && c.Forgotten(*rule, e.now.Boot):
		t.cool = nil
		return
	case now.Disabled == before.Disabled:
		return
	}
	e.noteHold(t)
}

// chance is a random number from 0 to 1 for one target in this step, 0 when the
// caller has no chance to offer.
func (e *Engine) chance(t *target) float64 {
	if e.now.Chance == 0 {
		return 0
	}
	seed := binary.BigEndian.AppendUint64(nil, e.now.Chance)
	sum := sha256.Sum256(append(seed, t.id.Check+"@"+t.id.Address...))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}

// starved reports whether a record set that rests on the target has no usable
// answer: it is then probed at its interval, whatever its pause.
func (t *target) starved() bool {
	return t.starving > 0 || slices.ContainsFunc(t.sets, func(s *set) bool { return s.starved })
}

// starve follows what was judged of a record set: its targets are left alone
// only while something else of it is usable.
func (e *Engine) starve(s *set) {
	if starved := !s.hasUsable(); starved != s.starved {
		s.starved = starved
		e.starveScenes(s)
		for _, needs := range s.targets {
			for _, t := range needs {
				e.noteHold(t)
			}
		}
	}
}

// noteHold notes a target whose hold may have changed.
func (e *Engine) noteHold(t *target) {
	if c := t.cool; c != nil && !c.noted {
		c.noted = true
		e.resting = append(e.resting, t)
	}
}

// settleHolds tells the schedule of the holds that have changed, once every
// record set was judged.
func (e *Engine) settleHolds() {
	for _, t := range e.resting {
		c := t.cool
		if c == nil {
			continue
		}
		c.noted = false
		until := e.holdOf(t)
		if c.told <= e.now.Boot {
			c.told = 0 // it is over
		}
		if until != c.told {
			c.told = until
			e.effects.Hold = append(e.effects.Hold, Hold{t.id, until})
		}
	}
	e.resting = nil
}

// holdOf is until when nothing is asked of a target; 0 when it is free.
func (e *Engine) holdOf(t *target) time.Duration {
	switch c := t.cool; {
	case t.health.Disabled:
		return Never
	case c != nil && t.health.Is() == health.Down && c.Until > e.now.Boot && !t.starved():
		return c.Until
	}
	return 0
}

// heldUntil is until when the silence of a target is meant.
func (t *target) heldUntil() time.Duration {
	if t.cool == nil || t.health.Is() != health.Down {
		return 0
	}
	return t.cool.Until
}

// Holds gives the hold of every target that may not be probed yet, and counts as
// having told of them. It is for who replaces what is scheduled; changes of it
// come as Effects.Hold.
func (e *Engine) Holds() map[check.Target]time.Duration {
	holds := map[check.Target]time.Duration{}
	for _, t := range e.targets {
		if until := e.holdOf(t); until > 0 {
			holds[t.id] = until
			if t.cool != nil {
				t.cool.told = until
			}
		}
	}
	return holds
}

// enable ends that targets are disabled: those of an address, or of the answers
// with that value. They stay down, and are probed and counted anew.
func (e *Engine) enable(address string) bool {
	found := false
	for _, t := range e.disabledAt(address) {
		t.health, t.sight = t.health.Enable(), nil
		if t.cool != nil {
			t.cool.Cooldown = health.Cooldown{}
		}
		e.noteHold(t)
		e.touch(t)
		found = true
	}
	return found
}

// disabledAt lists the disabled targets that a person may mean: by their id, by
// the address that is probed, or by the value of an answer that rests on them.
func (e *Engine) disabledAt(text string) []*target {
	var list []*target
	name, address, one := strings.Cut(text, "@")
	if !one {
		address = text
	}
	spellings := spellings(address)
	for _, t := range e.targets {
		if !t.health.Disabled {
			continue
		}
		meant := slices.ContainsFunc(spellings, func(s string) bool { return t.id.Address == s || t.standsFor(s) })
		if meant && (!one || t.id.Check == name) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *target) int { return strings.Compare(a.id.ID(), b.id.ID()) })
	return list
}

// spellings are the canonical ones of what may be an address or a name.
func spellings(text string) []string {
	var list []string
	for _, t := range []record.Type{record.A, record.AAAA, record.CNAME} {
		if value, err := record.ParseValue(t, text); err == nil {
			list = append(list, value)
		}
	}
	return list
}

// standsFor reports whether an answer with that value rests on the target.
func (t *target) standsFor(value string) bool {
	for _, s := range t.sets {
		for i, needs := range s.targets {
			if s.spec.At(i).Value == value && slices.Contains(needs, t) {
				return true
			}
		}
	}
	return false
}

// CooldownView is where a target is between going down and coming up.
type CooldownView struct {
	State    health.Life
	Until    time.Time // end of the pause; zero unless State is Cooling
	Attempts int       // failures after a pause since it went down
}

func (e *Engine) cooldownView(t *target) CooldownView {
	var c health.Cooldown
	if t.cool != nil {
		c = t.cool.Cooldown
	}
	v := CooldownView{State: c.Life(t.health, e.pauses(t), e.now.Boot), Attempts: c.Attempts}
	if v.State == health.Cooling && t.starved() {
		v.State = health.Probing
	}
	if v.State == health.Cooling {
		v.Until = e.wall(c.Until)
	}
	return v
}

// CooldownState is what a restart takes up of a target's pauses.
type CooldownState struct {
	Until    *time.Time    `json:"until,omitempty"` // end of the latest pause
	Pause    time.Duration `json:"pause,omitempty"` // how long that was meant to be, in nanoseconds
	Up       *time.Time    `json:"up,omitempty"`    // since when it is up
	Attempts int           `json:"attempts,omitempty"`
}

func (e *Engine) cooldownState(t *target) *CooldownState {
	if t.cool == nil || t.cool.Cooldown == (health.Cooldown{}) {
		return nil
	}
	c := t.cool
	state := &CooldownState{Pause: c.Pause, Attempts: c.Attempts}
	if c.Until != 0 { // below 0: before this boot
		until := e.wall(c.Until)
		state.Until = &until
	}
	if c.Up != 0 {
		up := e.wall(c.Up)
		state.Up = &up
	}
	return state
}

// restoreCooldown goes on with a pause where the process before left it. One
// whose end seems further away than it was long comes from a clock that was set
// back, and is as long as it was meant to be.
func (e *Engine) restoreCooldown(t *target, old *CooldownState) {
	if old == nil && !t.health.Disabled {
		return
	}
	t.cool = &cooldown{}
	if old == nil || e.pauses(t) == nil {
		return
	}
	t.cool.Pause, t.cool.Attempts = old.Pause, old.Attempts
	if old.Until != nil {
		t.cool.Until = e.now.Boot + min(old.Until.Sub(e.now.Wall), old.Pause)
	}
	if old.Up != nil {
		t.cool.Up = e.boot(*old.Up)
	}
}
