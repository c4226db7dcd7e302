package drill

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/override"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
)

// refuse is why a rehearsal is not begun, and what to do.
func (r *rehearsal) refuse(exit int, hint, format string, args ...any) error {
	return &control.Error{
		Message: fmt.Sprintf("drill %s: %s", r.o.Watch.Name.Unrooted(), fmt.Sprintf(format, args...)), Hint: hint, Exit: exit,
	}
}

// choose finds out what to drain and who carries the name meanwhile, and refuses
// where that cannot be done safely. It asks the daemon alone, and changes nothing.
func (r *rehearsal) choose(ctx context.Context) error {
	name := r.o.Watch.Name
	status, err := r.o.Daemon.Status(ctx, "")
	if err != nil {
		return err
	}
	if err := r.mayWrite(status); err != nil {
		return err
	}
	if left := r.leftDrain(status); left != nil {
		until := "for good"
		if left.Until != nil {
			until = "until " + left.Until.UTC().Format(time.RFC3339)
		}
		return r.refuse(control.ExitGuard, "wait for its end, or when no drill runs: sidestep undrain "+strings.TrimSuffix(left.Target, "."),
			"the drain of %s by another drill is in force %s (%s, by %s): that runs, or ended before it could take it back", strings.TrimSuffix(left.Target, "."), until, left.Reason, left.By)
	}
	set, err := r.settled(status)
	if err != nil {
		return err
	}
	leader, found := leading(set)
	if !found {
		return r.refuse(control.ExitGuard, "see: sidestep explain "+name.Unrooted(),
			"it answers with %s, none of which is one of its ordinary answers: it is in an emergency already", strings.Join(set.Live, ", "))
	}
	r.plan = Plan{
		Zone: r.o.Zone, Name: name, Type: r.o.Watch.Type, Policy: set.Policy,
		Target: cmp.Or(leader.Site, leader.Value), Site: leader.Site, Value: leader.Value, Before: set.Live, For: r.o.For, Hold: r.o.Hold, ByHand: r.o.ByHand,
	}
	r.blocked = set.Blocked
	if r.plan.Reason, err = newReason(name); err != nil {
		return err
	}
	if other := r.otherDrain(status); other != nil {
		return r.refuse(control.ExitGuard, "wait for its end, or: sidestep undrain "+r.plan.Target, "%s is drained by %s already (%s)", r.plan.Target, other.By, other.Reason)
	}
	return r.foresee(ctx, status)
}

// mayWrite refuses where nothing would be written: exit 4 where this node is not
// the leader, 6 where it is frozen, 5 where the zone cannot be reached.
func (r *rehearsal) mayWrite(status control.Status) error {
	leader, zone := status.Leader, control.Zone{}
	for _, z := range status.Zones {
		if z.Zone == string(r.o.Zone) {
			zone = z
		}
	}
	if zone.Leader != nil {
		leader = *zone.Leader
	}
	if leader.State != "leader" {
		why := cmp.Or(leader.Detail, "it is "+leader.State)
		if leader.Holder != "" && leader.Holder != status.Node {
			why = "the leader is " + leader.Holder + "; " + why
		}
		return r.refuse(control.ExitNotLeader, "rehearse on the leader: sidestep status", "node %s does not write here: %s", status.Node, why)
	}
	for _, o := range status.Overrides {
		if o.Kind == string(override.Freeze) && o.State == "in force" && slices.Contains([]string{"all", string(r.o.Zone), string(r.o.Watch.Name)}, o.Target) {
			return r.refuse(control.ExitFrozen, "sidestep unfreeze "+strings.TrimSuffix(o.Target, "."), "%s is frozen by %s (%s)", strings.TrimSuffix(o.Target, "."), o.By, o.Reason)
		}
	}
	switch {
	case zone.Error != "":
		return r.refuse(control.ExitProvider, "see: sidestep status", "zone %s: %s", r.o.Zone.Unrooted(), zone.Error)
	case status.Canary != nil && status.Canary.State != "pass":
		return r.refuse(control.ExitGuard, "see: sidestep status", "the canary does not pass, so that this node writes nothing")
	}
	return nil
}

// settled is the record set, which has to be in the state that is wanted, with
// nothing under way.
func (r *rehearsal) settled(status control.Status) (control.Record, error) {
	name := r.o.Watch.Name.Unrooted()
	var sets []control.Record
	for _, s := range status.Records {
		if s.Name == string(r.o.Watch.Name) && s.Type == string(r.o.Watch.Type) {
			sets = append(sets, s)
		}
	}
	explain := "see: sidestep explain " + name
	if len(sets) != 1 {
		return control.Record{}, r.refuse(control.ExitUsage, "", "expected one record set of type %s, the daemon has %d; a set of several lines or identifiers cannot be watched from one place", r.o.Watch.Type, len(sets))
	}
	set := sets[0]
	why := ""
	switch {
	case !set.Listed:
		why = "what it answers with is not known yet"
	case set.Waiting != "":
		why = "it waits for a person: " + set.Waiting
	case len(set.Pending) > 0:
		why = "changes are pending, so that it is not settled"
	case set.HoldEnds != nil:
		why = "a failback waits until " + set.HoldEnds.UTC().Format(time.RFC3339)
	case len(set.Live) == 0:
		why = "it answers with nothing"
	}
	for _, o := range status.Overrides {
		if o.Kind == string(override.Pin) && o.State == "in force" && o.Target == set.Name {
			why, explain = fmt.Sprintf("it is pinned by %s (%s)", o.By, o.Reason), "sidestep override clear "+name+" --kind pin"
		}
	}
	if why != "" {
		return control.Record{}, r.refuse(control.ExitGuard, explain, "%s", why)
	}
	return set, nil
}

// leading is the live answer to rehearse without: the first in the order of the
// policy, else of the config.
func leading(set control.Record) (control.Answer, bool) {
	var first control.Answer
	found := false
	for _, a := range set.Answers {
		if a.State != "live" || a.Mode == "dr" {
			continue
		}
		if !found || a.Rank > 0 && a.Rank < first.Rank {
			first, found = a, true
		}
	}
	return first, found
}

// foresee lets the daemon say what the drain would do, to this name and to others,
// and looks at the health of what would carry them.
func (r *rehearsal) foresee(ctx context.Context, status control.Status) error {
	request := r.request(true)
	request.For = cmp.Or(r.plan.For, time.Hour).String() // how long says nothing of what happens
	answer, err := r.o.Daemon.Override(ctx, request)
	if err != nil {
		return err
	}
	own := func(f control.Foreseen) bool { return f.Name == string(r.plan.Name) && f.Type == string(r.plan.Type) }
	slices.SortStableFunc(answer.Records, func(a, b control.Foreseen) int { return cmp.Compare(rank(own(a)), rank(own(b))) })
	for _, f := range answer.Records {
		if err := r.mayMove(f, own(f), status); err != nil {
			return err
		}
		if len(f.Out) == 0 {
			continue
		}
		if err := r.carries(f, status); err != nil {
			return err
		}
		if err := r.fits(f); err != nil {
			return err
		}
		if f.Waits != nil {
			r.waiting = max(r.waiting, time.Until(f.Waits.Until))
		}
		if own(f) {
			r.plan.During = f.Live
			continue
		}
		r.plan.Also = append(r.plan.Also, Moved{Name: record.Name(f.Name), Type: record.Type(f.Type), Out: f.Out, Live: f.Live})
	}
	if len(r.plan.During) == 0 {
		return r.refuse(control.ExitGuard, "see: sidestep explain "+r.plan.Name.Unrooted(), "draining %s would change nothing", r.plan.Target)
	}
	return nil
}

// rank brings what is in front of the rest.
func rank(front bool) int {
	if front {
		return 0
	}
	return 1
}

// mayMove refuses what the daemon foresees to go wrong.
func (r *rehearsal) mayMove(f control.Foreseen, own bool, status control.Status) error {
	name := record.Name(f.Name).Unrooted()
	explain := "see: sidestep explain " + name
	switch {
	case f.Error != "":
		return r.refuse(control.ExitProvider, "see: sidestep status", "zone %s of %s: %s", record.Name(f.Zone).Unrooted(), name, f.Error)
	case !f.Known:
		return r.refuse(control.ExitGuard, explain, "what draining %s would do to %s is not known yet", r.plan.Target, name)
	case len(f.Stays) > 0:
		return r.refuse(control.ExitGuard, explain, "%s has no other usable answer than %s: %s", name, f.Stays[0].Value, othersOf(f, status))
	case len(f.Blocked) > 0 && f.Blocked[0].Guard == plan.GuardFreeze:
		return r.refuse(control.ExitFrozen, explain, "%s is frozen: %s", name, f.Blocked[0].Detail)
	case len(f.Blocked) > 0:
		return r.refuse(control.ExitGuard, explain, "guard %s would stop it at %s: %s", f.Blocked[0].Guard, name, f.Blocked[0].Detail)
	case own && !slices.Contains(f.Out, r.plan.Value):
		return r.refuse(control.ExitGuard, explain, "draining %s would not take %s out", r.plan.Target, r.plan.Value)
	}
	return nil
}

// othersOf says why those that stay are alone.
func othersOf(f control.Foreseen, status control.Status) string {
	var words []string
	for _, set := range status.Records {
		if set.Name != f.Name || set.Type != f.Type || set.Variant != f.Variant {
			continue
		}
		for _, a := range set.Answers {
			if !slices.ContainsFunc(f.Stays, func(s control.Stay) bool { return s.Value == a.Value }) {
				words = append(words, fmt.Sprintf("%s is %s (%s)", a.Value, a.Verdict, a.Reason))
			}
		}
	}
	return cmp.Or(strings.Join(words, ", "), "it has no other")
}

// carries refuses where what would carry a name meanwhile is not healthy. Where all
// usable answers carry it, all have to be: with one down already the others carry
// more than they are used to.
func (r *rehearsal) carries(f control.Foreseen, status control.Status) error {
	name := record.Name(f.Name).Unrooted()
	i := slices.IndexFunc(status.Records, func(s control.Record) bool {
		return s.Name == f.Name && s.Type == f.Type && s.Variant == f.Variant
	})
	if i < 0 {
		return r.refuse(control.ExitGuard, "see: sidestep status", "%s would move as well, and is not known", name)
	}
	for _, b := range status.Records[i].Blocked {
		if b.Guard != plan.GuardHeld { // which stops nothing else
			return r.refuse(control.ExitGuard, "see: sidestep explain "+name, "guard %s stops %s already: %s", b.Guard, name, b.Detail)
		}
	}
	if why := unhealthy(status.Records[i], f.Live, f.Out); why != "" {
		return r.refuse(control.ExitGuard, "see: sidestep explain "+name, "the rest is not healthy enough: of %s %s", name, why)
	}
	return nil
}

// unhealthy says which of the answers that are to carry a record set is not up;
// empty when all are.
func unhealthy(set control.Record, carriers, out []string) string {
	probed := map[string]bool{}
	for _, a := range set.Answers {
		probed[a.Value] = true
		ordinary := a.Mode == "" && set.Policy != "priority" && !slices.Contains(out, a.Value)
		if !slices.Contains(carriers, a.Value) && !ordinary {
			continue
		}
		switch {
		case a.Verdict != "up":
			return fmt.Sprintf("%s is %s (%s)", a.Value, a.Verdict, a.Reason)
		case !a.Usable:
			return fmt.Sprintf("%s is up and not usable (%s)", a.Value, a.Reason)
		}
	}
	for _, value := range carriers {
		if !probed[value] && !slices.Contains(set.Foreign, value) {
			return value + " would answer, which nobody probes"
		}
	}
	return ""
}

// addressOf is the address of an answer; the zero Addr for a name.
func addressOf(value string) netip.Addr {
	addr, err := netip.ParseAddr(value)
	if err != nil {
		return netip.Addr{}
	}
	return addr
}
