package rto

import (
	"fmt"
	"slices"
	"time"

	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// Measured is how long something took, each time that it was done of late.
type Measured struct {
	Times   int // how often it was measured; 0 for never
	Least   time.Duration
	Half    time.Duration // half of them took no longer: the 50th percentile
	Most    time.Duration // 95 % of them took no longer
	Longest time.Duration
	AtLeast int // of so many only the least is known: another write came before their end
}

// Measure sums up measurements, in any order.
func Measure(took []time.Duration) Measured {
	n := len(took)
	if n == 0 {
		return Measured{}
	}
	took = slices.Sorted(slices.Values(took))
	return Measured{
		Times: n, Least: took[0], Half: took[rank(n, 50)], Most: took[rank(n, 95)], Longest: took[n-1],
	}
}

// rank is the place of a percentile among n sorted values, by the nearest rank.
func rank(n, percent int) int { return max((n*percent+99)/100, 1) - 1 }

func (m Measured) span() Span { return Span{m.Least, m.Half, m.Longest} }

func (m Measured) words(what string) string {
	times := "once"
	if m.Times > 1 {
		times = fmt.Sprintf("%d times", m.Times)
	}
	text := fmt.Sprintf("%s, measured %s: p50 %s, p95 %s", what, times, Short(m.Half), Short(m.Most))
	if m.AtLeast > 0 {
		text += fmt.Sprintf("; %d of them took longer, and were not there yet when another write took their place", m.AtLeast)
	}
	return text
}

// enough is how many measurements say by themselves what the worst is: of fewer the
// longest may be far from it.
const enough = 20

// over takes the place of what is assumed, as far as something was measured.
func (m Measured) over(assumed Part, what string) Part {
	if m.Times == 0 {
		return assumed
	}
	p := Part{Name: assumed.Name, Span: m.span(), Why: m.words(what)}
	if m.Times < enough && p.Worst < assumed.Worst {
		p.Worst = assumed.Worst
		p.Why += fmt.Sprintf("; fewer than %d: at worst as assumed", enough)
	}
	return p
}

// What is assumed where nothing was measured and nobody says anything.
const (
	assumedWrite  = time.Second      // a list and a call over the Internet
	assumedCall   = 30 * time.Second // the longest deadline of a call that an adapter has
	assumedSpread = 5 * time.Second  // NOTIFY and a transfer (RFC 1996)
	longestSpread = time.Minute      // what vendors name as usual at most
	assumedTTL    = 5 * time.Minute  // what vendors give a record of which nothing is said
)

// common are the parts that both ways have: from the decision to the clients.
func (c Config) common(z Zone, spec *steer.Spec) []Part {
	return []Part{
		{Name: Debounce, Span: always(c.Debounce), Why: "reconcile.debounce"},
		writing(z), spreading(z), caching(z, spec),
	}
}

func writing(z Zone) Part { return z.Write.over(assumedWriting(z), "list and calls") }

func assumedWriting(z Zone) Part {
	call := assumedCall
	why := "assumed: no write of this zone is in the journal"
	if z.Known {
		call = z.Call
		why += fmt.Sprintf("; a call is given up after %s", z.Call)
	}
	if z.Lag > 0 {
		why += fmt.Sprintf(", and a list may show the past for %s", z.Lag)
	}
	return Part{Name: Write, Span: Span{0, min(assumedWrite, call), call + z.Lag}, Why: why, Assumed: true}
}

// spreading counts a write that is not at all name servers yet with the time that it
// has taken so far.
func spreading(z Zone) Part {
	p := settled(z)
	if z.Outstanding > 0 {
		p.Expected, p.Worst = max(p.Expected, z.Outstanding), max(p.Worst, z.Outstanding)
		p.Why += fmt.Sprintf("; the last write is not at all name servers, after %s", Short(z.Outstanding))
	}
	return p
}

// settled is what follows from the writes that are over.
func settled(z Zone) Part { return z.Spread.over(assumedSpreading(z), "to the last name server") }

func assumedSpreading(z Zone) Part {
	if z.Publish > 0 {
		return Part{Name: Propagation, Span: Span{0, z.Publish, z.Publish}, Why: fmt.Sprintf("assumed: not measured yet; the vendor says up to %s as a rule", z.Publish), Assumed: true}
	}
	return Part{Name: Propagation, Span: Span{0, assumedSpread, longestSpread}, Why: "assumed: not measured yet, and the provider promises nothing", Assumed: true}
}

func caching(z Zone, spec *steer.Spec) Part {
	if spec.TTL == 0 {
		return Part{Name: TTL, Span: Span{0, assumedTTL / 2, assumedTTL}, Why: "assumed: the config gives none, and the provider keeps what it has", Assumed: true}
	}
	kept := record.Answer{MinTTL: z.MinTTL, MaxTTL: z.MaxTTL}.Kept(spec.TTL)
	why := "what resolvers keep of the answer before"
	if kept != spec.TTL {
		why += fmt.Sprintf("; the provider makes %s of the config's %s", kept, spec.TTL)
	}
	return Part{Name: TTL, Span: Span{0, kept / 2, kept}, Why: why}
}

// negative is what a resolver waits longer that was told that there is nothing.
func negative(z Zone, spec *steer.Spec, ttl Part) Part {
	switch {
	case spec.OnAllDown != steer.None:
		return Part{Name: NegativeTTL, Why: "the name is never without an answer"}
	case z.Negative == 0:
		return Part{Name: NegativeTTL, Why: "not known, and not counted: the SOA's minimum of the zone, if the name was left without an answer", Assumed: true}
	}
	return Part{
		Name: NegativeTTL, Span: Span{Worst: max(z.Negative-ttl.Worst, 0)},
		Why: fmt.Sprintf("beyond the ttl, if the name was left without an answer: the zone's negative answers are kept for %s", z.Negative),
	}
}

// Short is a time for people: no finer than it matters.
func Short(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(time.Millisecond).String()
	}
	return d.String()
}
