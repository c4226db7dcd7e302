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
)

// OnAllDown is what a record set answers with when nothing is usable.
type OnAllDown string

// What to do when nothing is usable.
const (
	Keep     OnAllDown = "keep"     // the last live set
	Fallback OnAllDown = "fallback" // the fallback list
	Open     OnAllDown = "open"     // every answer of the config that was judged
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
	Answers   []Answer // at least one, each value once
	Checks    []string // names of checks; all must be up
	Fallback  []string // canonical values, none of them an answer, not probed; only with OnAllDown Fallback
	AskFirst  bool     // the first plan that takes a usable live value out waits for a person
}

// Answer is one value that the record set may answer with.
type Answer struct {
	Value string // canonical
	Probe string // the address that is probed for it: Value unless the config names another
	Site  string // where it stands; empty when the config does not say
	When  string // the scenario that has to hold for it to be usable; empty for none
	Mode  Mode
}

// Mode is when an answer takes part.
type Mode string

// The modes. An answer without one always takes part.
const (
	Standby Mode = "standby" // only while its scenario holds or an override calls it
	Backup  Mode = "backup"  // only when the others are gone
)

// Failback is when a better answer that came back displaces a worse one.
type Failback struct {
	Manual bool          // only when a person approves it
	Hold   time.Duration // after it was usable without a break for so long
}

// Position is the rank of a value among the answers, -1 for one that the
// config does not name there.
func (s *Spec) Position(value string) int {
	return slices.IndexFunc(s.Answers, func(a Answer) bool { return a.Value == value })
}

// Names reports whether the config names the value, as an answer or as a
// fallback. Only such a value is ever put in or taken out.
func (s *Spec) Names(value string) bool {
	return s.Position(value) >= 0 || slices.Contains(s.Fallback, value)
}

// Values lists every value that the config names, answers first.
func (s *Spec) Values() []string {
	values := make([]string, 0, len(s.Answers)+len(s.Fallback))
	for _, a := range s.Answers {
		values = append(values, a.Value)
	}
	return append(values, s.Fallback...)
}
