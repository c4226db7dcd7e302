package health

import (
	"time"

	"sidestep/pkg/check"
)

// Life is where a target is between going down and coming up.
type Life string

// A target that went down is left alone until a deadline (Cooling), then probed
// until it is up or fails once more (Probing). One that no pause binds is
// Eligible; one that a lasting cause or a person took out is Disabled.
const (
	Eligible Life = "eligible"
	Cooling  Life = "cooling"
	Probing  Life = "probing"
	Disabled Life = "disabled"
)

// Cooldown is what is remembered of the pauses of one target. The zero value is
// a target that had none. Times are of the boot clock.
type Cooldown struct {
	Until    time.Duration // end of the latest pause; 0 when there was none since it went down
	Pause    time.Duration // how long that was meant to be, before it was shortened; 0 when its growth is forgotten
	Up       time.Duration // since when the target is up; 0 while it is not
	Attempts int           // how often it failed after a pause since it went down
}

// Fell begins the first pause of a target that went down. It goes on growing
// from the last one unless the target was up for the longest pause between them.
// The pause counts from a boot time, the end of the probe that failed, and chance
// from 0 to 1 shortens it by up to a tenth, so that targets which failed together
// are not asked again together.
func (c Cooldown) Fell(rule check.Cooldown, from time.Duration, chance float64) Cooldown {
	if c.Forgotten(rule, from) {
		c.Pause = 0
	}
	c.Attempts, c.Up = 0, 0
	return c.rest(rule, from, chance)
}

// Failed begins a longer pause, after an attempt that failed.
func (c Cooldown) Failed(rule check.Cooldown, from time.Duration, chance float64) Cooldown {
	c.Attempts++
	return c.rest(rule, from, chance)
}

func (c Cooldown) rest(rule check.Cooldown, from time.Duration, chance float64) Cooldown {
	switch {
	case c.Pause == 0:
		c.Pause = rule.Base
	case c.Pause > rule.Max/time.Duration(rule.Factor): // and times Factor it might overflow
		c.Pause = rule.Max
	default:
		c.Pause = min(c.Pause*time.Duration(rule.Factor), rule.Max)
	}
	c.Until = from + c.Pause - min(time.Duration(chance*float64(c.Pause/10)), c.Pause/10)
	return c
}

// Rose ends the pauses of a target that came up.
func (c Cooldown) Rose(now time.Duration) Cooldown {
	return Cooldown{Pause: c.Pause, Up: now}
}

// Forgotten reports whether nothing of the pauses matters any more: the target
// was up for as long as the longest of them.
func (c Cooldown) Forgotten(rule check.Cooldown, now time.Duration) bool {
	return c.Up != 0 && now-c.Up >= rule.Max
}

// Life says where a target is. The rule is that of its check, nil when there is
// none.
func (c Cooldown) Life(s State, rule *check.Cooldown, now time.Duration) Life {
	switch {
	case s.Disabled:
		return Disabled
	case s.Is() != Down || rule == nil:
		return Eligible
	case now < c.Until:
		return Cooling
	}
	return Probing
}
