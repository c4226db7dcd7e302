package rto_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sidestep/pkg/config"
	"sidestep/pkg/rto"
	"sidestep/pkg/simulate"
)

const dying = "10.0.0.1"

// drawText draws a config with one record set, whose first answer is live.
func drawText(t *rapid.T) string {
	var b strings.Builder
	b.WriteString("zones: [{zone: example.com, provider: route53}]\nguard: {mass: 0, max_writes: 0}\n")
	fmt.Fprintf(&b, "reconcile: {debounce: %s}\n", rapid.SampledFrom([]string{"0s", "1s", "7s"}).Draw(t, "debounce"))
	if rapid.Bool().Draw(t, "canary") {
		b.WriteString("canary: {targets: [{tcp: \"198.51.100.53:53\"}]}\n")
	}
	vantages := ""
	if n := rapid.IntRange(0, 2).Draw(t, "vantages"); n > 0 {
		b.WriteString("node: {name: n, vantage: eu}\netcd: {endpoints: [\"http://127.0.0.1:2379\"]}\n")
		vantages = fmt.Sprintf(", vantages: {of: [eu, us], down: %d}", n)
	}
	b.WriteString("checks:\n")
	names := []string{"web", "ssh", "api"}[:rapid.IntRange(1, 3).Draw(t, "checks")]
	for _, name := range append(slices.Clone(names), "wan") {
		fmt.Fprintf(&b, "  %s: {tcp: {port: 443}, timeout: 500ms, interval: %s, fall: %d, rise: %d%s%s%s}\n", name,
			rapid.SampledFrom([]string{"2s", "5s", "10s", "30s"}).Draw(t, "interval"),
			rapid.IntRange(1, 4).Draw(t, "fall"), rapid.IntRange(1, 4).Draw(t, "rise"),
			rapid.SampledFrom([]string{"", "", ", fastinter: 1s"}).Draw(t, "fastinter"),
			rapid.SampledFrom([]string{"", "", ", cooldown: {base: 5s, factor: 2, max: 40s}"}).Draw(t, "cooldown"), vantages)
	}
	when := ""
	b.WriteString("sites: {dc1: {signals: {wan: {check: wan, targets: [" + dying + "]}}}}\nscenarios: {alive: {all: [dc1.wan]}}\n")
	if rapid.IntRange(0, 2).Draw(t, "when") == 0 {
		when = ", when: alive"
	}
	policy := rapid.SampledFrom([]string{"all", "priority", "priority, failback: {hold: 0s}", "priority, failback: {hold: 45s}"}).Draw(t, "policy")
	fmt.Fprintf(&b, "records:\n  - {name: www, ttl: 60s, policy: %s, check: [%s], answers: [{value: %s%s}, 10.0.0.2]}\n", policy, strings.Join(names, ", "), dying, when)
	return b.String()
}

// decided is how long a way takes from the event to the write, and at most in
// virtual time, where probes are over at once and none is in vain.
func decided(w rto.Way) (best, worst, virtual time.Duration) {
	for _, p := range w.Parts {
		switch p.Name {
		case rto.Write, rto.Propagation, rto.TTL, rto.NegativeTTL:
			continue
		case rto.Extra, rto.Timeout, rto.Canary:
		case rto.Probe, rto.Fall, rto.Confirm, rto.Cooldown, rto.Rise, rto.Hold, rto.Debounce:
			virtual += p.Worst
		}
		best, worst = best+p.Best, worst+p.Worst
	}
	return best, worst, virtual
}

// TestSimulatedWritesLieBetween lets an address die and live again at random times
// of random configs: each write comes between best and worst, and some come near to
// each.
func TestSimulatedWritesLieBetween(t *testing.T) {
	nearest := map[string]float64{}
	rapid.Check(t, func(t *rapid.T) {
		text := drawText(t)
		c, err := config.Parse("config.yaml", []byte(text), config.Options{SkipSecrets: true})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		died := time.Duration(rapid.IntRange(1, 120_000).Draw(t, "died")) * time.Millisecond
		lived := died + 5*time.Minute + time.Duration(rapid.IntRange(0, 120_000).Draw(t, "lived"))*time.Millisecond
		out, back := play(t, c, died, lived)
		e := rto.Of(rto.Config{
			Checks: c.Checks, Sites: c.Sites, Scenarios: c.Scenarios, Judged: c.Judged(), Sets: c.Records, Debounce: c.Reconcile.Debounce,
		}, rto.Zone{}, c.Records[0])
		for what, way := range map[string]struct {
			took time.Duration
			rto.Way
		}{"out": {out - died, e.Out}, "back": {back - lived, e.Back}} {
			best, worst, virtual := decided(way.Way)
			if way.took < best || way.took > worst {
				t.Fatalf("%s: written after %s, want %s to %s\n%s", what, way.took, best, worst, text)
			}
			if virtual > best {
				part := float64(way.took-best) / float64(virtual-best)
				nearest[what+" worst"] = max(nearest[what+" worst"], part)
				nearest[what+" best"] = max(nearest[what+" best"], 1-part)
			}
		}
	})
	for _, what := range []string{"out worst", "out best", "back worst", "back best"} {
		if nearest[what] < 0.8 {
			t.Errorf("%s: no run came nearer than %.0f %%: the bound says little", what, 100*nearest[what])
		}
	}
}

// play simulates an outage of the address, and tells when it was taken out of the
// answer, and put back in.
func play(t *rapid.T, c *config.Config, died, lived time.Duration) (out, back time.Duration) {
	timeline, err := simulate.Parse("timeline.txt", fmt.Appendf(nil, "%s down %s\n%s up %s\n", died, dying, lived, dying), c)
	if err != nil {
		t.Fatal(err)
	}
	err = simulate.Run(t.Context(), simulate.Options{
		Config: c, Timeline: timeline, Until: lived + time.Hour,
		Decision: func(d simulate.Decision) {
			switch live := slices.Contains(d.Live, dying); {
			case !live && out == 0:
				out = d.At
			case live && out != 0 && back == 0:
				back = d.At
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out == 0 || back == 0 {
		t.Fatalf("died at %s, out at %s, lived at %s, back at %s", died, out, lived, back)
	}
	return out, back
}
