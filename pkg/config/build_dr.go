package config

import (
	"fmt"
	"strings"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// disaster reads what replaces the answers in a disaster. first holds the values
// of the record set so far.
func (b *builder) disaster(it *item, spec *steer.Spec, first map[string]*item) {
	dr := it.at("dr")
	if dr.shape != mapping {
		return
	}
	answers := dr.at("answers")
	if answers.shape == list && len(answers.items) == 0 {
		b.fail(answers.pos, answers.path(), "expected at least one value, got an empty list", "remove dr")
	}
	for _, e := range entries(answers) {
		if value := b.value(e.at, spec.Key.Type, it.has("type"), first); value != "" {
			spec.DR.Answers = append(spec.DR.Answers, steer.Answer{Value: value, Probe: value, Mode: steer.Reserve})
		}
	}
	spec.DR.When = b.scenarioRef(dr.at("when"))
	spec.DR.IfNone = get[bool](dr.at("if_none")) || !dr.has("if_none") && !dr.has("when")
	if at := dr.at("if_none"); !spec.DR.IfNone && !dr.has("when") && at.value != nil {
		b.fail(at.pos, at.path(), "these answers would never be used: if_none is false, and there is no when", "add when: SCENARIO, or remove if_none")
	}
}

// weights reads the weights of a record set that goes by them, and refuses those
// of one that does not.
func (b *builder) weights(it *item, spec *steer.Spec) {
	sum := 0
	for _, e := range entries(it.at("answers")) {
		weight := 1
		if e.whole != nil {
			weight = get[int](e.whole.at("weight"))
		}
		if spec.Policy != steer.Weighted {
			if e.whole != nil && e.whole.has("weight") {
				at := e.whole.at("weight")
				b.fail(at.keyPos, at.path(), "only policy: weighted has this key", "add policy: weighted, or remove the key")
			}
			continue
		}
		sum += weight
		if value, err := record.ParseValue(spec.Key.Type, e.at.text); err == nil {
			if i := spec.Position(value); i >= 0 && i < len(spec.Answers) {
				spec.Answers[i].Weight = weight
			}
		}
	}
	if spec.Policy != steer.Weighted {
		return
	}
	for i := range spec.DR.Answers {
		spec.DR.Answers[i].Weight = 1
	}
	if at := it.at("answers"); sum == 0 && len(spec.Answers) > 0 {
		b.fail(at.pos, at.path(), "every weight is 0: nothing would be answered with", "give at least one answer a weight")
	}
}

// traits refuses what the zone's provider does not have.
func (b *builder) traits(it *item, spec *steer.Spec) {
	zone := b.zones[spec.Key.Zone]
	if zone == nil {
		return
	}
	name := get[string](zone.at("provider"))
	has := provider.TraitsOf(name)
	if at := it.at("policy"); spec.Policy == steer.Weighted && !has.Weights && name != "" {
		b.fail(at.pos, at.path(), fmt.Sprintf("records at the provider %s have no weights", name), "write policy: all or priority; weights have: "+
			strings.Join(provider.WithTraits(func(t provider.Traits) bool { return t.Weights }), ", "))
	}
	if at := it.at("variant"); spec.Key.Variant != "" && !has.Variants && name != "" {
		b.fail(at.pos, at.path(), fmt.Sprintf("the provider %s keeps one set of a name and type, no variants of it", name), "remove the key; variants have: "+
			strings.Join(provider.WithTraits(func(t provider.Traits) bool { return t.Variants }), ", "))
	}
	if at := it.at("variant"); name == "route53" && namesValue(spec) {
		b.fail(at.pos, at.path(), fmt.Sprintf("the set identifier %s is a value too: such a set is one that keeps the weight of this value, and no variant", spec.Key.Variant), "give the set another identifier by hand, and write it here")
	}
}

// namesValue reports whether a variant is spelled like a value that its set could
// have: any address, or a target that the config names.
func namesValue(spec *steer.Spec) bool {
	value, err := record.ParseValue(spec.Key.Type, spec.Key.Variant)
	return err == nil && (spec.Key.Type != record.CNAME || spec.Names(value))
}

func showDR(dr steer.DR) any {
	if len(dr.Answers) == 0 {
		return nil
	}
	values := make([]string, len(dr.Answers))
	for i, a := range dr.Answers {
		values[i] = a.Value
	}
	return shown{{"answers", values}, {"when", some(dr.When)}, {"if_none", dr.IfNone}}
}
