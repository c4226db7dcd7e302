package rto

import (
	"slices"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/record"
	"sidestep/pkg/scenario"
	"sidestep/pkg/steer"
)

// Config is what the times of a record set follow from, beside the set itself and
// its zone. It is only read.
type Config struct {
	Checks    map[string]*check.Spec
	Sites     []scenario.Site
	Scenarios []scenario.Scenario
	Judged    map[check.Target]*check.Vantages // whose word counts, where it is not that of one node
	Sets      []*steer.Spec                    // all of the config: a scenario may ask for every target of a check
	Debounce  time.Duration
	Canary    time.Duration // how long a target may have to wait for the canary to pass; 0 without one
	Mass      Mass
	Writes    Writes
	Takeover  time.Duration // how long nobody may lead after a leader died; 0 where no other node can
}

// Mass is the guard against many addresses that fail together.
type Mass struct {
	AtLeast int // so many; 0 is off
	Confirm int // each needs so many more failures in a row
}

// Writes is the guard against a record set that is written too often; a Count of 0
// is off.
type Writes struct {
	Count  int
	Window time.Duration
}

// Zone is what is known of the zone of a record set, and of its provider.
type Zone struct {
	Known   bool          // what the provider promises is known; else the next ones say nothing
	Call    time.Duration // the deadline of one call
	Lag     time.Duration // how long a list may show the past
	Quiet   time.Duration // how long after a start or an unclear call nothing is taken away; 0 for not at all
	Publish time.Duration // how long an accepted write usually takes to the name servers, as the vendor says; 0 unknown
	MinTTL  time.Duration // the TTLs that are kept as given; see record.Answer
	MaxTTL  time.Duration

	Write       Measured      // from the end of the debounce window to the answer of the provider
	Spread      Measured      // from there to the answer of the last name server
	Outstanding time.Duration // for how long the last write was not at all name servers; 0 where it is, or nobody asked
	Negative    time.Duration // how long a negative answer of the zone may be cached (RFC 2308 section 5); 0 unknown
}

// Span is how long something takes.
type Span struct{ Best, Expected, Worst time.Duration }

func (s Span) plus(o Span) Span {
	return Span{s.Best + o.Best, s.Expected + o.Expected, s.Worst + o.Worst}
}

// always is a span of something that takes as long each time.
func always(d time.Duration) Span { return Span{d, d, d} }

// PartName is what one part of a way is called, for people and in JSON.
type PartName string

// The parts of a way, in their order in time. Of the way out: Probe, Fall,
// Extra, Timeout, Canary, Confirm, then the common ones; of the way back: Probe,
// Cooldown, Rise, Extra, Timeout, Hold, then these.
const (
	Probe       PartName = "probe"        // until the next probe begins
	Fall        PartName = "fall"         // from the first failure that counts to the last
	Extra       PartName = "extra"        // one probe more than needed
	Timeout     PartName = "timeout"      // until the last probe is over
	Canary      PartName = "canary"       // until the canary has passed after it
	Confirm     PartName = "confirm"      // the failures that guard mass wants to see beside
	Cooldown    PartName = "cooldown"     // until a target that was left alone is asked again
	Rise        PartName = "rise"         // from the first pass that counts to the last
	Hold        PartName = "hold"         // of a failback
	Debounce    PartName = "debounce"     // from the change to the write
	Write       PartName = "write"        // until the provider has accepted it
	Propagation PartName = "propagation"  // until all name servers answer so
	TTL         PartName = "ttl"          // until a resolver asks again
	NegativeTTL PartName = "negative_ttl" // until a resolver that was told "nothing" asks again, beyond the TTL
)

// Part is one part of a way.
type Part struct {
	Name PartName
	Span
	Why     string // where the numbers come from
	Assumed bool   // nobody measured or configured them
}

// Way is the way out of an answer, or back into it.
type Way struct {
	Parts   []Part   // each at most once, those without time too
	Approve string   // what has to be approved by hand before anything is written; empty for nothing
	Waits   []string // when, and for whose word, it waits beside all that
}

// Sum is how long the whole way takes, without what a person is waited for.
func (w Way) Sum() Span {
	var sum Span
	for _, p := range w.Parts {
		sum = sum.plus(p.Span)
	}
	return sum
}

// Part finds a part; one that the way does not have takes no time.
func (w Way) Part(name PartName) Part {
	if i := slices.IndexFunc(w.Parts, func(p Part) bool { return p.Name == name }); i >= 0 {
		return w.Parts[i]
	}
	return Part{Name: name}
}

// Longest is the part that takes longest: at worst, and of two that take as long,
// as expected; the earlier of what is still the same.
func (w Way) Longest() Part {
	var longest Part
	for _, p := range w.Parts {
		if p.Worst > longest.Worst || p.Worst == longest.Worst && p.Expected > longest.Expected {
			longest = p
		}
	}
	return longest
}

// Estimate is what is said of one record set.
type Estimate struct {
	Key    record.Key
	Out    Way
	Back   Way
	Limits []string // what the numbers do not cover, a line each
	Gains  []Gain   // the greatest first
}

// Gain is what another setting of one key would change in the way out.
type Gain struct {
	Setting  string // the key, as in the config
	From, To string
	Expected time.Duration // so much less
	Worst    time.Duration // the same at worst
	Price    string        // what it costs
}

// Of works out the ways of one record set, which is one of the config.
func Of(c Config, z Zone, spec *steer.Spec) Estimate {
	e := estimate(c, z, spec)
	e.Limits = limits(c, z, spec)
	e.Gains = gains(c, z, spec, e)
	return e
}

func estimate(c Config, z Zone, spec *steer.Spec) Estimate {
	e := Estimate{Key: spec.Key}
	e.Out.Parts = append(c.falling(spec), c.common(z, spec)...)
	e.Back.Parts = append(c.rising(spec), c.common(z, spec)...)
	e.Back.Parts = append(e.Back.Parts, negative(z, spec, e.Back.Part(TTL)))
	e.Out.Parts = append(e.Out.Parts, Part{Name: NegativeTTL, Why: "the name is never without an answer on the way out"})
	if spec.OnAllDown == steer.None {
		e.Out.Parts[len(e.Out.Parts)-1].Why = "comes with the way back: what resolvers keep of a name that has no answer left"
	}
	e.Back.Waits = c.waits(spec)
	if spec.Policy == steer.Priority && spec.Failback.Manual {
		e.Back.Approve = spec.Key.Name.Unrooted()
	}
	return e
}
