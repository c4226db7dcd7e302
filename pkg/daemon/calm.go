package daemon

import (
	"fmt"
	"time"

	"sidestep/pkg/engine"
	"sidestep/pkg/notify"
	"sidestep/pkg/override"
)

// calmFor is how long nothing is down before a freeze is told of that stays.
const calmFor = time.Hour

type freezeKey struct {
	target string
	said   time.Time
}

// calm is what a freeze has seen.
type calm struct {
	outage bool          // something was down while it was in force
	since  time.Duration // boot time since which nothing is, after that; 0 while something is
	told   bool
}

// calmState is a calm for a snapshot, which outlives the boot.
type calmState struct {
	Target string    `json:"target"`
	Said   time.Time `json:"said"`
	Since  time.Time `json:"since,omitzero"` // zero while something is down
	Told   bool      `json:"told,omitempty"`
}

// calmToSave gives what each freeze has seen of an outage; those that saw none are
// left out. It belongs to the loop.
func (d *Daemon) calmToSave() (list []calmState) {
	now := d.now()
	for key, f := range d.people.freezes {
		if !f.outage {
			continue
		}
		state := calmState{Target: key.target, Said: key.said, Told: f.told}
		if f.since != 0 {
			state.Since = now.Wall.Add(f.since - now.Boot)
		}
		list = append(list, state)
	}
	return list
}

// restoreCalm takes up what freezes saw before this process. It belongs to the loop.
func (d *Daemon) restoreCalm(list []calmState) {
	now := d.now()
	for _, state := range list {
		f := &calm{outage: true, told: state.Told}
		if !state.Since.IsZero() {
			f.since = now.Boot - max(now.Wall.Sub(state.Since), 0)
		}
		d.people.freezes[freezeKey{state.Target, state.Said}] = f
	}
}

// lookForFreezes belongs to the loop.
func (d *Daemon) lookForFreezes(e *engine.Engine) {
	if d.people.rests == nil {
		return
	}
	now, found := d.now(), map[freezeKey]*calm{}
	for _, o := range e.RestState().Overrides {
		if o.Kind != override.Freeze || !o.Begun(now.Wall) || o.Over(now.Wall) {
			continue
		}
		key := freezeKey{o.Target, o.Said}
		f := d.people.freezes[key]
		if f == nil {
			f = &calm{}
		}
		found[key] = f
		d.lookAtFreeze(o, f, now.Boot)
	}
	d.people.freezes = found
}

func (d *Daemon) lookAtFreeze(o override.Override, f *calm, now time.Duration) {
	before := *f
	switch {
	case d.people.Down() > 0:
		f.outage, f.since = true, 0
	case f.outage && f.since == 0:
		f.since = now
	case f.outage && !f.told && now-f.since >= calmFor:
		f.told = true
		d.announce(notify.Event{
			Topic: notify.OverrideOld, About: o.Shown(), Left: d.leaves(),
			Text: fmt.Sprintf("%s; what was down under it is up again for %s, and nothing is written; to go on: sidestep unfreeze %s", o, calmFor, o.Shown()),
		})
	}
	if *f != before {
		d.news = true // to be saved
	}
}
