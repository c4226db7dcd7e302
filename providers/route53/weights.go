package route53

import (
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// setWeight gives a value a weight. In a variant it is the weight of its set;
// without one a plain set is parted first.
func (d *draft) setWeight(c record.Change) error {
	i, _ := d.at(c.Value)
	_, copied := d.copyOf(c.Value)
	if i < 0 && !copied {
		return d.refuse(provider.Conflict, "weight %s: the value is neither live nor parked in the list", c.Value)
	}
	if i >= 0 {
		if d.key.Variant != "" && d.cells[i].shape.Weight == nil {
			return d.refuse(provider.Permanent, "weight %s: the set is a %s one and has no weight", c.Value, policy(&d.cells[i].shape))
		}
		d.part()
		i, _ = d.at(c.Value)
		d.zeroed = d.zeroed || c.Weight == 0 && aws.ToInt64(d.cells[i].shape.Weight) != 0
		d.cells[i].shape.Weight = aws.Int64(int64(c.Weight))
	}
	d.rewrite(c.Value, func(p *provider.Parked) {
		extra := map[string]string{"weight": strconv.Itoa(c.Weight)}
		for key, value := range p.Extra {
			if key != "weight" {
				extra[key] = value
			}
		}
		p.Extra = extra
	})
	return nil
}

// fitting refuses a parked copy with another routing policy than the sets of the
// name and type have: whoever wrote it, a resume must not make another kind of
// set of them. A copy of a plain set has none, and takes theirs.
func (d *draft) fitting(c record.Change, kept *rrset) error {
	said, has := policy(kept), d.policy()
	if said == "simple" || has == "" || said == has {
		return nil
	}
	e := d.refuse(provider.Permanent, "%s %s: its parked copy is of a %s set, and the name has a %s one now", c.Action, c.Value, said, has)
	e.Hint = "delete that text at " + string(provider.ParkedName(d.key.Name)) + " by hand, and the value comes back as the others are; or make the set a " + said + " one again"
	return e
}

// policy is that of the set, else of another of its name and type; empty where
// there is none.
func (d *draft) policy() string {
	if len(d.cells) > 0 {
		return policy(&d.cells[0].shape)
	}
	for i := range d.place.sets {
		if s := &d.place.sets[i]; record.Type(s.Type) == d.key.Type && fixed(s) == "" {
			return policy(s)
		}
	}
	return ""
}

// witness is what a weight of 0 rests on: another weighted set of the name and
// type that keeps answering. Where all weights are 0, all are answered with
// (API_ResourceRecordSet, Weight). The draft's own cells are compared anyway; a
// set beside them is returned, so that the call compares it too.
func (d *draft) witness() (*rrset, error) {
	if !d.zeroed {
		return nil, nil
	}
	for _, c := range d.cells {
		if aws.ToInt64(c.shape.Weight) > 0 {
			return nil, nil
		}
	}
	for i := range d.place.sets {
		s := &d.place.sets[i]
		if record.Type(s.Type) == d.key.Type && variant(s) != d.key.Variant && aws.ToInt64(s.Weight) > 0 && len(s.ResourceRecords) > 0 {
			return s, nil
		}
	}
	return nil, d.refuse(provider.Conflict, "a weight of 0 where no other set of the name has one above: all of them would be answered with")
}

// check refuses a call that the list does not allow: a survivor that is not
// there or is taken away (one that is swapped lives until its place is taken),
// an answer that would be empty, two values where there can be one.
func (d *draft) check(call provider.Call) error {
	listed := d.listed()
	for _, text := range call.Survivors {
		value, err := record.ParseValue(d.key.Type, text)
		if err != nil {
			return d.refuse(provider.Permanent, "survivor: %w", err)
		}
		if !slices.Contains(listed, value) || !d.has(value) && value != d.swapped {
			return d.refuse(provider.Conflict, "the survivor %s is not live in the list, or does not stay so", value)
		}
	}
	if len(d.cells) == 0 && len(d.before) > 0 && !call.Empty {
		return d.refuse(provider.Conflict, "the call would leave the set without an answer, and does not say that it may")
	}
	for _, c := range d.cells {
		if d.key.Type.Single() && (len(c.values) > 1 || len(d.cells) > 1 && !d.parted()) {
			return d.refuse(provider.Permanent, "%d values; a name can have one %s: swap it", len(c.values), d.key.Type)
		}
	}
	return nil
}

// listed are the values that were live before the call.
func (d *draft) listed() []string {
	var values []string
	for i := range d.before {
		for _, m := range cellOf(&d.before[i], d.key.Type).values {
			values = append(values, m.value)
		}
	}
	return values
}
