package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/lease"
	"sidestep/pkg/reconcile"
	"sidestep/pkg/record"
)

// Release is the answer of the command that takes sidestep out of a zone.
type Release struct {
	Zone     string            `json:"zone"`
	Released bool              `json:"released"` // nothing of sidestep is left but what left_out says
	Resume   []control.Change  `json:"resume"`   // values that come back
	Remove   []string          `json:"remove"`   // marks, copies of live values and stamps, a line each
	LeftOut  []LeftOut         `json:"left_out"` // values that stay out of the answer
	Unread   []string          `json:"unread"`   // parked copies that cannot be read, and stay
	Blocked  []control.Blocked `json:"blocked"`
	Applied  []control.Change  `json:"applied"` // what was written
	Removed  []string          `json:"removed"`
	Verified bool              `json:"verified"`
	Sets     int               `json:"sets"`            // record sets in the last list of the zone
	Live     int               `json:"live"`            // their values that are live
	Paused   int               `json:"paused"`          // and those that are not
	Rival    string            `json:"rival,omitempty"` // the other node whose stamp leads the zone, where that is the lock
	Detail   string            `json:"detail,omitempty"`
	Error    string            `json:"error,omitempty"`
	Exit     int               `json:"exit"`
}

// LeftOut is a value that a release leaves out of the answer, and why.
type LeftOut struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Variant string `json:"variant"`
	Value   string `json:"value"`
	Reason  string `json:"reason"`
}

// Idle reports whether there is nothing to do.
func (r Release) Idle() bool { return len(r.Resume) == 0 && len(r.Remove) == 0 }

// ReleasePlan lists a zone and says what ReleaseOnce would do. It needs no lock
// and writes nothing.
func (d *Daemon) ReleasePlan(ctx context.Context, zone string, progress Progress) (Release, error) {
	name, err := d.releaseZone(zone)
	if err != nil {
		return Release{}, err
	}
	progress("listing zone %s", name)
	return releaseOf(d.writer.Leaving(ctx, name, d.options.Config.Records), false), nil
}

// ReleaseOnce takes sidestep out of a zone under the lock: every value that it
// paused comes back, then the marks, copies and the stamp go. shown is the plan
// that a person said yes to; one that would do more is refused. nil asks nobody.
func (d *Daemon) ReleaseOnce(ctx context.Context, zone string, shown *Release, takeOver bool, progress Progress) (Release, error) {
	name, err := d.releaseZone(zone)
	if err != nil {
		return Release{}, err
	}
	var answer Release
	err = d.locked(ctx, progress, true, func(ctx context.Context) error {
		if err := d.notFrozen(name); err != nil {
			return err
		}
		if shown != nil {
			progress("listing zone %s", name)
			if now := releaseOf(d.writer.Leaving(ctx, name, d.options.Config.Records), false); now.Error == "" && now.exceeds(*shown) {
				return &control.Error{Message: fmt.Sprintf("release zone %s: the zone has changed since the plan was shown, and nothing was written", name), Hint: "look at it again: sidestep release " + name.Unrooted(), Exit: control.ExitFailure}
			}
		}
		progress("zone %s: resuming what is paused, then removing what is left", name)
		departure := d.writer.Leave(ctx, name, d.options.Config.Records, reconcile.Orders{TakeOver: takeOver})
		if len(departure.Applied) > 0 { // else the daemon that runs next takes it for somebody else's doing
			d.tell(engine.Wrote{Zone: name, Applied: departure.Applied})
		}
		answer = releaseOf(departure, true)
		d.stayReleased(ctx, name, &answer, progress)
		return nil
	})
	return answer, err
}

func (d *Daemon) releaseZone(zone string) (record.Name, error) {
	names, err := d.zoneNames([]string{zone})
	if err != nil {
		var known []string
		for _, z := range d.options.Config.Zones {
			known = append(known, z.Name.Unrooted())
		}
		return "", &control.Error{Message: "release: " + err.Error(), Hint: "it has " + strings.Join(known, ", "), Exit: control.ExitUsage}
	}
	return names[0], nil
}

// notFrozen refuses what an operator said not to write, in any part of the zone.
func (d *Daemon) notFrozen(zone record.Name) error {
	var frozen map[record.Key]string
	d.ask(func(e *engine.Engine) {
		work, _ := e.Work(d.now(), zone, nil)
		frozen = work.Limits.Frozen
	})
	for _, key := range slices.SortedFunc(maps.Keys(frozen), record.Key.Compare) {
		return &control.Error{Message: fmt.Sprintf("release zone %s: nothing was written: %s", zone, frozen[key]), Exit: control.ExitFrozen}
	}
	return nil
}

// Waiting are the values that were to come back and did not.
func (r Release) Waiting() []control.Change {
	return slices.DeleteFunc(slices.Clone(r.Resume), func(c control.Change) bool {
		return slices.ContainsFunc(r.Applied, func(done control.Change) bool { return sameValue(c, done) })
	})
}

func sameValue(a, b control.Change) bool {
	return a.Name == b.Name && a.Type == b.Type && a.Variant == b.Variant && a.Value == b.Value
}

// exceeds reports whether a plan would do what another does not.
func (r Release) exceeds(shown Release) bool {
	for _, c := range r.Resume {
		if !slices.ContainsFunc(shown.Resume, func(s control.Change) bool { return sameValue(s, c) }) {
			return true
		}
	}
	return false
}

// count sums up the last list of the zone.
func (r *Release) count(d reconcile.Departure) {
	if d.Seen == nil {
		return
	}
	r.Sets = len(d.Seen.Sets)
	for _, set := range d.Seen.Sets {
		live := len(set.Live())
		r.Live, r.Paused = r.Live+live, r.Paused+len(set.Answers)-live
	}
}

func releaseOf(d reconcile.Departure, wrote bool) Release {
	r := Release{
		Zone: string(d.Zone), Resume: changes(d.Plan.Changes()), Remove: append([]string{}, d.Remains...), LeftOut: []LeftOut{},
		Blocked: blocked(d.Final.Blocked), Applied: changes(d.Applied), Removed: append([]string{}, d.Removed...), Unread: append([]string{}, d.Unread...),
		Verified: d.Verified, Detail: d.Detail, Rival: d.Rival, Exit: exitOf(d.Report, wrote),
	}
	for _, l := range d.LeftOut {
		r.LeftOut = append(r.LeftOut, LeftOut{string(l.Key.Name), string(l.Key.Type), l.Key.Variant, l.Value, l.Why})
	}
	r.count(d)
	r.Released = d.Err == nil && d.Seen != nil && len(d.Remains) == 0 && d.Final.InSync()
	if d.Err == nil {
		return r
	}
	r.Error = d.Err.Error()
	if two, is := errors.AsType[*reconcile.TwoWritersError](d.Err); is {
		r.Error = strings.ReplaceAll(two.Error(), "sidestep reconcile", "sidestep release "+d.Zone.Unrooted())
	}
	if held, is := errors.AsType[*lease.HeldError](d.Err); is && len(r.Applied) == 0 {
		r.Error = heldWords(d.Zone, held)
	}
	return r
}
