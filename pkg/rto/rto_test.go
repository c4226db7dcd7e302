package rto_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/record"
	"sidestep/pkg/rto"
	"sidestep/pkg/scenario"
	"sidestep/pkg/steer"
)

const second = time.Second

func slow() *check.Spec {
	return &check.Spec{Name: "web", Interval: 30 * second, Timeout: 5 * second, Fall: 3, Rise: 2}
}

// set is a record set of two answers, judged by some checks.
func set(checks ...string) *steer.Spec {
	return &steer.Spec{
		Key: record.Key{Zone: "example.com.", Name: "www.example.com.", Type: record.A}, TTL: time.Minute, Policy: steer.All, Checks: checks,
		Answers: []steer.Answer{{Value: "192.0.2.1", Probe: "192.0.2.1"}, {Value: "192.0.2.2", Probe: "192.0.2.2"}},
	}
}

func conf(specs ...*check.Spec) rto.Config {
	c := rto.Config{Checks: map[string]*check.Spec{}, Debounce: second}
	for _, s := range specs {
		c.Checks[s.Name] = s
	}
	return c
}

// measured is a zone of which everything was measured, so that nothing is assumed.
func measured() rto.Zone {
	return rto.Zone{
		Known: true, Call: 10 * second,
		Write:  rto.Measure(slices.Repeat([]time.Duration{3 * second, second, 2 * second}, 7)),
		Spread: rto.Measure(slices.Repeat([]time.Duration{4 * second}, 20)),
	}
}

// expect compares a part, or the sum under the name "all", in seconds.
func expect(t *testing.T, way rto.Way, name rto.PartName, best, expected, worst float64) {
	t.Helper()
	got := way.Part(name).Span
	if name == "all" {
		got = way.Sum()
	}
	in := func(s float64) time.Duration { return time.Duration(s * float64(second)) }
	if want := (rto.Span{Best: in(best), Expected: in(expected), Worst: in(worst)}); got != want {
		t.Errorf("%s: got %v, want %v", name, got, want)
	}
}

// TestParts adds up a switch by hand: every 30 s, a timeout of 5 s, three failures,
// a TTL of a minute.
func TestParts(t *testing.T) {
	e := rto.Of(conf(slow()), measured(), set("web"))
	for _, part := range []struct {
		name                  rto.PartName
		best, expected, worst float64
	}{
		{rto.Probe, 0, 15, 30},
		{rto.Fall, 60, 60, 60},
		{rto.Extra, 0, 0, 30},
		{rto.Timeout, 0, 5, 5},
		{rto.Debounce, 1, 1, 1},
		{rto.Write, 1, 2, 3},
		{rto.Propagation, 4, 4, 4},
		{rto.TTL, 0, 30, 60},
		{rto.NegativeTTL, 0, 0, 0},
		{"all", 66, 117, 193},
	} {
		expect(t, e.Out, part.name, part.best, part.expected, part.worst)
	}
	if longest := e.Out.Longest().Name; longest != rto.Fall { // the ttl is as long at worst, and shorter as a rule
		t.Errorf("the longest part is %s", longest)
	}
	expect(t, e.Back, rto.Rise, 30, 30, 30)
	expect(t, e.Back, rto.Hold, 0, 0, 0)
	expect(t, e.Back, "all", 36, 82, 163)
	if !slices.ContainsFunc(e.Limits, func(l string) bool { return strings.HasPrefix(l, "kept connections") }) {
		t.Errorf("kept connections are not named: %q", e.Limits)
	}
}

// TestJudges: the fastest check decides what is best, the slowest what is worst.
func TestJudges(t *testing.T) {
	fast := &check.Spec{Name: "ssh", Interval: 2 * second, Timeout: second, Fall: 2, Rise: 1}
	e := rto.Of(conf(slow(), fast), measured(), set("web", "ssh"))
	expect(t, e.Out, "all", 2+6, 1+2+1+1+6+30, 193)
	expect(t, e.Back, "all", 0+6-1+1, 82, 163) // to be usable all have to pass: the slowest decides what is expected
	t.Run("fastinter", func(t *testing.T) {
		s := slow()
		s.FastInter = 2 * second
		e := rto.Of(conf(s), measured(), set("web"))
		expect(t, e.Out, rto.Fall, 4, 10, 10) // not before the probe in flight has ended
	})
	t.Run("vantages", func(t *testing.T) {
		c := conf(slow())
		c.Judged = map[check.Target]*check.Vantages{}
		for _, address := range []string{"192.0.2.1", "192.0.2.2"} {
			c.Judged[check.Target{Check: "web", Address: address}] = &check.Vantages{Of: []string{"a", "b", "c"}, Down: 2}
		}
		e := rto.Of(c, measured(), set("web"))
		expect(t, e.Out, rto.Probe, 0, 15, 30) // the second of three
	})
	t.Run("a scenario over another check", func(t *testing.T) {
		c, spec := conf(slow(), fast), set("ssh")
		c.Sites = []scenario.Site{{Name: "dc1", Signals: []scenario.Signal{{Name: "wan", Check: "web", Targets: []string{"192.0.2.9"}, Need: 1}}}}
		c.Scenarios = []scenario.Scenario{
			{Name: "good", Any: []scenario.Group{{{Kind: scenario.Holds, Name: "reached"}}}},
			{Name: "reached", Any: []scenario.Group{{{Kind: scenario.SignalHolds, Name: "dc1", Of: "wan"}}}},
		}
		spec.Answers[0].When = "good"
		expect(t, rto.Of(c, measured(), spec).Out, "all", 8, 41, 193)
		spec.Checks = nil // by its scenario alone
		expect(t, rto.Of(c, measured(), spec).Out, "all", 66, 117, 193)
	})
	t.Run("guards", func(t *testing.T) {
		c := conf(slow())
		c.Canary, c.Mass = 5*second, rto.Mass{AtLeast: 1, Confirm: 2}
		e := rto.Of(c, measured(), set("web"))
		expect(t, e.Out, rto.Canary, 0, 0, 5)
		expect(t, e.Out, rto.Confirm, 0, 0, 60)
	})
}

// TestBack: what holds a value back that lives again.
func TestBack(t *testing.T) {
	s := slow()
	s.Cooldown = &check.Cooldown{Base: 30 * second, Factor: 2, Max: 2 * time.Minute}
	s.Causes = check.Causes{check.CauseAuth: check.CountDisable}
	c, spec := conf(s), set("web")
	c.Sites = []scenario.Site{{Name: "dc1", Return: scenario.Return{AfterOutage: time.Hour, Mode: scenario.Approve}}}
	spec.Policy, spec.Failback.Hold, spec.Answers[0].Site = steer.Priority, 5*time.Minute, "dc1"
	back := rto.Of(c, measured(), spec).Back
	expect(t, back, rto.Cooldown, 0, 62.5, 125)
	expect(t, back, rto.Probe, 0, 0, 0)
	expect(t, back, rto.Hold, 300, 300, 300)
	waits := strings.Join(back.Waits, "\n")
	for _, want := range []string{"after an outage longer than 1h0m0s site dc1 waits for sidestep approve dc1", "by auth the address waits for"} {
		if !strings.Contains(waits, want) {
			t.Errorf("%q is not in %q", want, waits)
		}
	}
	spec.Failback = steer.Failback{Manual: true}
	spec.OnAllDown = steer.None
	z := measured()
	z.Negative = 90 * second
	back = rto.Of(c, z, spec).Back
	expect(t, back, rto.Hold, 0, 0, 0)
	expect(t, back, rto.NegativeTTL, 0, 0, 30)
	if back.Approve != "www.example.com" {
		t.Errorf("waits for %q", back.Approve)
	}
	if !slices.Contains(back.Waits, "failback is manual: sidestep approve www.example.com") {
		t.Errorf("got %q", back.Waits)
	}
}

// TestAssumed: what nobody measured is said to be assumed, and what the provider
// makes of the TTL counts.
func TestAssumed(t *testing.T) {
	e := rto.Of(conf(slow()), rto.Zone{Known: true, Call: 10 * second, Lag: 2 * second, Publish: 60 * second, MinTTL: 2 * time.Minute, Quiet: 30 * second}, set("web"))
	expect(t, e.Out, rto.Write, 0, 1, 12)
	expect(t, e.Out, rto.Propagation, 0, 60, 60)
	expect(t, e.Out, rto.TTL, 0, 60, 120)
	for _, name := range []rto.PartName{rto.Write, rto.Propagation} {
		if p := e.Out.Part(name); !p.Assumed || !strings.HasPrefix(p.Why, "assumed: ") {
			t.Errorf("%s does not say that it is assumed: %q", name, p.Why)
		}
	}
	spec := set("web")
	spec.TTL, spec.Answers = 0, spec.Answers[:1]
	e = rto.Of(conf(slow()), rto.Zone{}, spec)
	expect(t, e.Out, rto.TTL, 0, 150, 300)
	if !strings.HasPrefix(e.Limits[0], "the last answer: ") {
		t.Errorf("a set of one answer cannot step aside: %q", e.Limits)
	}
}

// TestMeasuredSeldom: of few measurements the longest may be far from the worst.
func TestMeasuredSeldom(t *testing.T) {
	z := measured()
	z.Spread = rto.Measure(slices.Repeat([]time.Duration{96 * time.Millisecond}, 6))
	e := rto.Of(conf(slow()), z, set("web"))
	expect(t, e.Out, rto.Propagation, 0.096, 0.096, 60)
	if p := e.Out.Part(rto.Propagation); p.Assumed || !strings.HasSuffix(p.Why, "; fewer than 20: at worst as assumed") {
		t.Errorf("got %+v", p)
	}
	z.Spread = rto.Measure([]time.Duration{2 * time.Minute})
	expect(t, rto.Of(conf(slow()), z, set("web")).Out, rto.Propagation, 120, 120, 120)
}

// TestOutstanding: a write that is not at all name servers yet takes at least as long.
func TestOutstanding(t *testing.T) {
	z := measured()
	z.Outstanding = 95 * second
	p := rto.Of(conf(slow()), z, set("web")).Out.Part(rto.Propagation)
	if p.Worst < z.Outstanding || p.Expected < z.Outstanding || !strings.HasSuffix(p.Why, "; the last write is not at all name servers, after 1m35s") {
		t.Errorf("got %+v", p)
	}
}

// TestGains: each gain is the difference that its setting makes.
func TestGains(t *testing.T) {
	fast := slow()
	fast.Name = "ssh"
	e := rto.Of(conf(slow(), fast), measured(), set("web", "ssh"))
	got := map[string]rto.Gain{}
	for _, g := range e.Gains {
		got[g.Setting] = g
	}
	for setting, want := range map[string]rto.Gain{
		"interval of ssh, web": {From: "30s", To: "15s", Expected: 37500 * time.Millisecond, Worst: 60 * second},
		"fall of ssh, web":     {From: "3", To: "2", Expected: 30 * second, Worst: 30 * second},
		"ttl":                  {From: "1m0s", To: "30s", Expected: 15 * second, Worst: 30 * second},
	} {
		g := got[setting]
		if g.Price == "" {
			t.Errorf("%s has no price: %+v", setting, e.Gains)
		}
		if g.Setting, g.Price = "", ""; g != want {
			t.Errorf("%s: got %+v, want %+v", setting, g, want)
		}
	}
}

func TestMeasure(t *testing.T) {
	var took []time.Duration
	for i := range 100 {
		took = append(took, time.Duration(100-i)*second)
	}
	got := rto.Measure(took)
	want := rto.Measured{Times: 100, Least: second, Half: 50 * second, Most: 95 * second, Longest: 100 * second}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := rto.Measure(nil); got != (rto.Measured{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

// TestBelow: the verdict on an answer that stands behind a scenario takes as long as the
// slowest of what that rests on, through every kind of term and each scenario once.
func TestBelow(t *testing.T) {
	every := func(name string, interval time.Duration) *check.Spec {
		return &check.Spec{Name: name, Interval: interval, Timeout: second, Fall: 1, Rise: 1}
	}
	for _, row := range []struct {
		what string
		term scenario.Term
		wait float64 // for a probe at worst, in seconds
	}{
		{"a site", scenario.Term{Kind: scenario.SiteOK, Name: "dc1"}, 40},
		{"another site", scenario.Term{Kind: scenario.SiteOK, Name: "dc2"}, 50},
		{"a signal", scenario.Term{Kind: scenario.SignalHolds, Name: "dc1", Of: "lan"}, 40},
		{"a target", scenario.Term{Kind: scenario.TargetUp, Name: "disk", Of: "192.0.2.7"}, 60},
		{"a check, probed for a site", scenario.Term{Kind: scenario.CheckUp, Name: "lan"}, 40},
		{"a check, probed for a record set", scenario.Term{Kind: scenario.CheckUp, Name: "other"}, 70},
		{"a person's word and nothing else", scenario.Term{Kind: scenario.Maintenance, Name: "dc1"}, 10},
		{"a scenario that is not there", scenario.Term{Kind: scenario.Holds, Name: "none"}, 10},
		{"itself", scenario.Term{Kind: scenario.Holds, Name: "good"}, 10},
	} {
		c := conf(every("web", 10*second), every("lan", 40*second), every("wan", 50*second), every("disk", 60*second), every("other", 70*second))
		c.Sites = []scenario.Site{
			{Name: "dc1", Signals: []scenario.Signal{{Name: "lan", Check: "lan", Targets: []string{"192.0.2.9"}, Need: 1}}},
			{Name: "dc2", Signals: []scenario.Signal{{Name: "wan", Check: "wan", Targets: []string{"192.0.2.8"}, Need: 1}}},
		}
		c.Sets = []*steer.Spec{set("other")}
		c.Scenarios = []scenario.Scenario{{Name: "good", Any: []scenario.Group{{row.term}}}}
		spec := set("web")
		spec.Answers[0].When = "good"
		if got := rto.Of(c, measured(), spec).Out.Part(rto.Probe).Worst; got != time.Duration(row.wait*float64(second)) {
			t.Errorf("%s: a probe begins after %s at worst, want %v s", row.what, got, row.wait)
		}
	}
}

// TestLimits: what the numbers leave out is said, each where the config has it.
func TestLimits(t *testing.T) {
	c, z, spec := conf(slow()), measured(), set("web")
	c.Judged = map[check.Target]*check.Vantages{{Check: "web", Address: "192.0.2.1"}: {Of: []string{"a", "b", "c"}, Down: 2}}
	c.Scenarios = []scenario.Scenario{{Name: "good", Any: []scenario.Group{{{Kind: scenario.TargetUp, Name: "web", Of: "192.0.2.9"}}}}}
	spec.Answers[1].When = "good"
	c.Mass, c.Canary, c.Takeover, c.Writes = rto.Mass{AtLeast: 5, Confirm: 2}, 5*second, 20*second, rto.Writes{Count: 6, Window: 10 * time.Minute}
	z.Quiet = time.Minute
	all := strings.Join(rto.Of(c, z, spec).Limits, "\n")
	for _, want := range []string{
		"scenarios that turn when something comes up", "with fewer than 2 left nothing of web goes down", "where 5 addresses or sites fail together, guard mass waits for 2 more failures of each: 1m0s more",
		"while the canary fails nothing is written", "another node takes over within 20s", "for 1m0s after it values are added and none is taken out", "after 6 writes in 10m0s",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
	alone := rto.Of(conf(), z, set())
	if all := strings.Join(alone.Limits, "\n"); !strings.Contains(all, "nothing is probed for this name") {
		t.Errorf("a name that is moved by words alone: %s", all)
	}
	expect(t, alone.Out, rto.Fall, 0, 0, 0)
	expect(t, alone.Back, rto.Rise, 0, 0, 0)
}

// TestFreshSite: a site that has to prove that its data is current says by which check.
func TestFreshSite(t *testing.T) {
	c, spec := conf(slow()), set("web")
	c.Sites = []scenario.Site{{Name: "dc1", Return: scenario.Return{AfterOutage: time.Hour, Mode: scenario.Fresh, Check: "replica"}}}
	spec.Answers[0].Site = "dc1"
	want := "after an outage longer than 1h0m0s site dc1 waits for check replica to pass, or for sidestep approve dc1"
	if waits := rto.Of(c, measured(), spec).Back.Waits; !slices.Contains(waits, want) {
		t.Errorf("got %q", waits)
	}
}

// TestWordsOfTimes: what is told is no finer than it matters, and says what it does not
// know.
func TestWordsOfTimes(t *testing.T) {
	for d, want := range map[time.Duration]string{
		95*second + 400*time.Millisecond: "1m35s", 2*second + 340*time.Millisecond: "2.3s", 12*time.Millisecond + 300*time.Microsecond: "12ms", 420 * time.Microsecond: "420µs",
	} {
		if got := rto.Short(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
	z, spec := measured(), set("web")
	z.Spread.AtLeast, spec.OnAllDown = 3, steer.None
	out := rto.Of(conf(slow()), z, spec).Out
	if why := out.Part(rto.Propagation).Why; !strings.Contains(why, "; 3 of them took longer") {
		t.Errorf("got %q", why)
	}
	if p := rto.Of(conf(slow()), z, spec).Back.Part(rto.NegativeTTL); !p.Assumed || !strings.HasPrefix(p.Why, "not known, and not counted") {
		t.Errorf("got %+v", p)
	}
}
