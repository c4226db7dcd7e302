package steer

import (
	"slices"
	"time"

	"sidestep/pkg/record"
)

// Policy is how a record set chooses among its usable answers.
type Policy string

// The policies.
const (
	All      Policy = "all"      // every usable answer
	Priority Policy = "priority" // the first MaxLive usable answers, by position
	Weighted Policy = "weighted" // every usable answer with its weight; needs a provider that has weights
)

// Mode is when an answer takes part. One without a mode always does.
type Mode string

// The modes.
const (
	Standby Mode = "standby" // only while its scenario holds or an override calls it; otherwise it is judged unusable
	Backup  Mode = "backup"  // only while no other answer is usable
	Reserve Mode = "dr"      // of Spec.DR: for disasters; no answer of Spec.Answers has it
)

// OnAllDown is what a record set answers with when nothing is usable.
type OnAllDown string

// What to do when nothing is usable.
const (
	Keep     OnAllDown = "keep"     // the last live set
	Fallback OnAllDown = "fallback" // the fallback list
	Open     OnAllDown = "open"     // every answer of the config that was judged and is not standby
	None     OnAllDown = "none"     // nothing: the one way to an empty set
)

// Spec is a record set as the config describes it. It is read-only once made.
type Spec struct {
	Key       record.Key
	TTL       time.Duration // whole seconds; 0 keeps what the provider has
	Policy    Policy
	MaxLive   int // Priority: how many at once, at least 1
	MinLive   int // so many answers stay live through anything, if so many are
	OnAllDown OnAllDown
	Failback  Failback // Priority only
	Answers   []Answer // at least one that is not standby, each value once
	DR        DR       // what replaces the answers in a disaster
	Checks    []string // names of checks; all must be up
	Fallback  []string // canonical values, none of them an answer, not probed; only with OnAllDown Fallback
	AskFirst  bool     // the first plan that takes a usable live value out waits for a person
}

// Answer is one value that the record set may answer with.
type Answer struct {
	Value  string // canonical
	Probe  string // the address that is probed for it: Value unless the config names another
	Site   string // where it stands; empty when the config does not say
	When   string // the scenario that has to hold for it to be usable; empty for none
	Mode   Mode
	Weight int // Weighted only: its share, 0 to 255; not all of them 0
}

// DR is what replaces the answers in a disaster: while the scenario When holds,
// or, with IfNone, while none of them is usable. Without Answers there is none;
// with them there is at least one of the two conditions.
type DR struct {
	Answers []Answer // of mode Reserve, none of them an answer or a fallback
	When    string   // name of a scenario; empty when there is none
	IfNone  bool
}

// Failback is when a better answer that came back displaces a worse one.
type Failback struct {
	Manual bool          // only when a person approves it
	Hold   time.Duration // after it was usable without a break for so long
}

// Weights are those of the live values that the config names, as the provider
// has them; empty where the policy goes by none.
func (s *Spec) Weights(seen record.Set) map[string]int {
	weights := map[string]int{}
	for _, a := range seen.Answers {
		if s.Policy == Weighted && a.Live && s.Names(a.Value) {
			weights[a.Value] = a.Weight
		}
	}
	return weights
}

// value is any value that the config names, by its position in Values.
func (s *Spec) value(i int) string {
	if n := s.Len(); i >= n {
		return s.Fallback[i-n]
	}
	return s.At(i).Value
}

// index is the position of a value in Values, -1 when it is not there.
func (s *Spec) index(value string) int {
	i := s.Position(value)
	if i < 0 {
		if i = slices.Index(s.Fallback, value); i >= 0 {
			i += s.Len()
		}
	}
	return i
}

// Len is how many values are probed: the answers, then those for disasters.
func (s *Spec) Len() int { return len(s.Answers) + len(s.DR.Answers) }

// At is the probed value at a position: of the answers, and after them of those
// for disasters.
func (s *Spec) At(i int) Answer {
	if n := len(s.Answers); i >= n {
		return s.DR.Answers[i-n]
	}
	return s.Answers[i]
}

// Position is the place of a value among those that are probed, see At; -1 for
// one that is not there.
func (s *Spec) Position(value string) int {
	if i := position(s.Answers, value); i >= 0 {
		return i
	}
	if i := position(s.DR.Answers, value); i >= 0 {
		return len(s.Answers) + i
	}
	return -1
}

func position(answers []Answer, value string) int {
	return slices.IndexFunc(answers, func(a Answer) bool { return a.Value == value })
}

// Whens lists the scenarios that the record set is decided by, each once: those
// of its answers, in their order, then that of disasters.
func (s *Spec) Whens() []string {
	var whens []string
	add := func(when string) {
		if when != "" && !slices.Contains(whens, when) {
			whens = append(whens, when)
		}
	}
	for _, a := range s.Answers {
		add(a.When)
	}
	add(s.DR.When)
	return whens
}

// RestsOn reports whether a check of an address bears on the record set.
func (s *Spec) RestsOn(check, address string) bool {
	if !slices.Contains(s.Checks, check) {
		return false
	}
	for i := range s.Len() {
		if s.At(i).Probe == address {
			return true
		}
	}
	return false
}

// Names reports whether the config names the value, as an answer, for a disaster
// or as a fallback. Only such a value is ever put in or taken out.
func (s *Spec) Names(value string) bool {
	return s.index(value) >= 0
}

// Values lists every value that the config names: answers, those for disasters,
// then fallbacks.
func (s *Spec) Values() []string {
	values := make([]string, 0, s.Len()+len(s.Fallback))
	for i := range s.Len() {
		values = append(values, s.At(i).Value)
	}
	return append(values, s.Fallback...)
}
