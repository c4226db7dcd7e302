package engine

import (
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/health"
	"sidestep/pkg/override"
	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/scenario"
	"sidestep/pkg/steer"
)

// Now is one moment by both clocks.
type Now struct {
	Boot time.Duration // counts suspended time; for waits, never stored
	Wall time.Time     // for people and for what is stored
	// Chance is a random number, new with every step, that shortens pauses so
	// that targets which failed together are not probed together; 0 shortens none.
	Chance uint64
}

// Event is something that happened. The kinds are Tick, Results, Seen, Wrote,
// Done, Failed, Canary, Observed, Gone, Approve, Override, Clear and Configure.
type Event interface{ event() }

// Tick says that time has passed.
type Tick struct{}

// Results brings what probes found, oldest first.
type Results struct{ Results []check.Result }

// Seen brings a fresh, complete list of a zone.
type Seen struct {
	Zone   plan.Zone
	Others bool // another sidestep may have written it since the list before, by right
}

// Failed says that a zone could not be listed, or not be brought to the wanted
// state; the reconciler goes on trying.
type Failed struct {
	Zone record.Name
	Err  string
}

// Wrote says what was written by a piece of Work that did not come to its end:
// it failed, or newer Work replaced it. Done does not say it again.
type Wrote struct {
	Zone    record.Name
	Applied []plan.Change
}

// Done says that a piece of Work was carried out, as far as the guards let it.
type Done struct {
	Zone    plan.Zone     // as listed last, after the writes
	Applied []plan.Change // what was written
}

// Canary brings one round of the canary's probes. A round that began before a
// stop of the process and ended after it says nothing and is not brought.
type Canary struct {
	Start   time.Duration  // boot time at which it began
	Results []check.Result // one of each target, called by the Check of its Target
}

// Approve is a person's yes to what waits for one. Target is a record set's
// name, an address, a site, a zone, or "all".
type Approve struct {
	Target string
	Plan   string // the checksum of a plan that max_changes stopped; with a zone only
	By     string
}

// Override is an operator's word. Its Target and Values may be in any spelling,
// and its Thing is left to the engine.
type Override struct{ Override override.Override }

// Clear takes operators' words about a target back: those of one kind, or all.
type Clear struct {
	Target string
	Kind   override.Kind // empty for every kind
	By     string
}

// Configure replaces the definition of everything. Counters of targets whose
// check is the same as before are kept.
type Configure struct{ Config Config }

func (Tick) event()      {}
func (Results) event()   {}
func (Seen) event()      {}
func (Failed) event()    {}
func (Wrote) event()     {}
func (Done) event()      {}
func (Canary) event()    {}
func (Observed) event()  {}
func (Gone) event()      {}
func (Approve) event()   {}
func (Override) event()  {}
func (Clear) event()     {}
func (Configure) event() {}

// Effects is what has to be done about an event, in the order of its fields.
type Effects struct {
	Journal []Entry             // to be appended before anything else is done
	Canary  bool                // the canary has to be probed at once: a target waits for it
	Save    bool                // the State changed in a way that a restart must not lose
	Hold    []Hold              // targets that may not be probed for a while, or may be again
	Hasten  []Hasten            // targets to be probed before their next slot
	Look    []record.Name       // zones to be listed, the answer to be sent back as Seen or Failed
	Work    []Work              // zones to be brought to the wanted state; the newest replaces an older one
	Say     *Observed           // what this node says otherwise than before, for the other nodes; nil for nothing
	Next    time.Duration       // boot time of the next Tick that matters; 0 when there is none
	Err     error               // the event asked for something that does not exist
	Idle    string              // why a person's word changes nothing now, in words; empty when it does
	Kept    bool                // an Approve with Idle is remembered all the same, for what comes
	Cleared []override.Override // what a Clear took back
}

// Hasten asks for a target to be probed at a boot time that comes before its
// next slot. Its slots stay where they are.
type Hasten struct {
	Target check.Target
	At     time.Duration
}

// Entry is one line of the journal. Target is a target's id, a record set or a
// zone.
type Entry struct {
	Kind    string         `json:"-"` // of the line: "verdict" (what counts), "vantage" (what one of several says, or that it is silent), "plan" (drift), "site" (its state, and what it waits for), "guard" (a refusal, its end where it is the canary's or the clock's, a person's yes), "override" (it is set, begins, ends, is cleared, loses its effect, or is still there)
	Target  string         `json:"target,omitempty"`
	Address string         `json:"address,omitempty"`
	From    health.Verdict `json:"from,omitempty"`
	To      health.Verdict `json:"to,omitempty"`
	Phase   check.Phase    `json:"phase,omitempty"`
	Cause   check.Cause    `json:"cause,omitempty"`
	Vantage string         `json:"vantage,omitempty"` // of a line of kind "vantage": whose word it is
	Guard   string         `json:"guard,omitempty"`
	Detail  string         `json:"detail,omitempty"`
	By      string         `json:"by,omitempty"`

	Override *override.Override `json:"override,omitempty"` // of a line about one
	Reminder bool               `json:"-"`                  // it says that one is still there, as it does each day
}

// Work is one zone to be brought to the wanted state. It is a value: the
// reconciler may keep it and plan with it again and again against fresh lists.
type Work struct {
	Zone    record.Name
	Inputs  []steer.Input // sorted by key; in another order it costs more
	Limits  plan.Limits
	Steered []*steer.Spec // every record set of the zone, sorted by key; read-only
}

// Plan decides the wanted record sets against a list of the zone and compares
// them with it. It is pure, and the only way from a list to a plan.
func (w Work) Plan(zone plan.Zone) plan.Plan {
	wanted := make([]steer.Wanted, len(w.Inputs))
	rest := zone.Sets // sorted by key, as the inputs are
	for i := range w.Inputs {
		seen := record.Set{Key: w.Inputs[i].Spec.Key}
		if i > 0 && seen.Key.Compare(w.Inputs[i-1].Spec.Key) < 0 {
			rest = zone.Sets
		}
		for len(rest) > 0 && rest[0].Key != seen.Key && rest[0].Key.Compare(seen.Key) < 0 {
			rest = rest[1:]
		}
		if len(rest) > 0 && rest[0].Key == seen.Key {
			seen = rest[0]
		}
		wanted[i] = steer.Decide(w.Inputs[i], seen)
	}
	p := plan.Diff(wanted, zone)
	p.Check(w.Limits, zone)
	p.Leave(w.Steered, zone)
	return p
}

// Config is the definition that the engine decides by. It is read-only once
// made; what it names it also has: the zone of a set, the checks, sites and
// scenarios of its answers.
type Config struct {
	Zones      []record.Name
	Checks     map[string]*check.Spec // by name
	Sets       []*steer.Spec          // each key once, in any order
	Sites      []scenario.Site        // each name once, in any order
	Scenarios  []scenario.Scenario    // each name once, in any order; no rings
	Debounce   time.Duration
	Pace       time.Duration // probes follow each other at this pace where it is shorter than their interval; 0 at the interval
	Every      time.Duration // how often each zone is listed although nothing happened; 0 never
	MaxChanges int
	MaxWrites  plan.Writes
	Canary     CanarySpec
	Mass       Mass
	Vantage    string                           // where this node looks from
	Vantages   map[check.Target]*check.Vantages // what more than this node's own word decides about
	NoCooldown bool                             // pauses of checks are left out: for a command that probes in rounds of its own
	Built      time.Time                        // when this sidestep was built: no right clock is before it; zero when that is not known
}
