package simulate

import (
	"context"
	"slices"
	"testing"
	"time"
)

const manual = `
zones: [{zone: example.com, provider: route53}]
checks: {web: {tcp: {port: 8443}, interval: 10s, fall: 3, rise: 3}}
records:
  - {name: www, check: web, policy: priority, answers: [10.0.0.1, 10.0.0.2], failback: {mode: manual}}
  - {name: eu, variant: eu, check: web, policy: weighted, answers: [{value: 10.0.0.3, weight: 3}, 10.0.0.2]}
`

// TestAsides: what explains an answer, and what a run ends before, is told beside
// the decisions: what names answer with at the start, a failback that waits for a
// person, and what comes after the end.
func TestAsides(t *testing.T) {
	for _, tt := range []struct {
		name, config, timeline string
		until                  time.Duration
		want                   []string
	}{
		{"nothing", twoServers, "", time.Hour, []string{"0s www.example.com. A: live 10.0.0.1,10.0.0.2, paused -"}},
		{"a drain outlives the run", twoServers, "5m drain 10.0.0.1 --for 4h --reason x\n10m freeze --for forever --reason x\n20m freeze www --at 2h --for 10m --reason x", time.Hour, []string{
			"0s www.example.com. A: live 10.0.0.1,10.0.0.2, paused -",
			"1h0m0s the run ends; not reached: begin of freeze www.example.com at 2h0m0s, end of freeze www.example.com at 2h10m0s, end of drain 10.0.0.1 at 4h5m0s; a later --until plays on",
		}},
		{"events after the end", twoServers, "5m up 10.0.0.1\n1h up 10.0.0.1\n# why\n2h down 10.0.0.1\n3h up 10.0.0.1", time.Hour, []string{
			"0s www.example.com. A: live 10.0.0.1,10.0.0.2, paused -",
			"1h0m0s the run ends; not reached: 2 events from line 4 on, at 2h0m0s; a later --until plays on",
		}},
		{"a restart that does not end", twoServers, "5m restart 2h", time.Hour, []string{
			"0s www.example.com. A: live 10.0.0.1,10.0.0.2, paused -",
			"1h0m0s the run ends; not reached: the start after the restart at 2h5m0s; a later --until plays on",
		}},
		{"a failback is held", chain, "1m down 10.0.0.1\n10m up 10.0.0.1", 12 * time.Minute, []string{ // up at 10m20s, due after 5m
			"0s www.example.com. A: live 10.0.0.1, paused 10.0.0.2,10.0.0.3,10.0.0.9",
			"12m0s the run ends; not reached: failback of www.example.com. A at 15m20s; a later --until plays on",
		}},
		{"a failback waits for a person", manual, "1m down 10.0.0.1\n10m up 10.0.0.1\n20m down 10.0.0.1\n30m up 10.0.0.1\n40m approve www", time.Hour, []string{
			"0s eu.example.com. A [eu]: live 10.0.0.3=3,10.0.0.2=1, paused -",
			"0s www.example.com. A: live 10.0.0.1, paused 10.0.0.2",
			"10m20s www.example.com. A: failback to 10.0.0.1 waits for approval: sidestep approve www.example.com",
			"30m20s www.example.com. A: failback to 10.0.0.1 waits for approval: sidestep approve www.example.com",
		}},
	} {
		c := load(t, tt.config)
		timeline, err := Parse("t", []byte(tt.timeline), c)
		if err != nil {
			t.Fatal(err)
		}
		for _, whole := range []bool{false, true} {
			var got []string
			err := Run(context.Background(), Options{
				Config: c, Timeline: timeline, Until: tt.until, Whole: whole,
				Decision: func(Decision) {}, Note: func(text string) { got = append(got, text) },
			})
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%s: %v\ngot  %q\nwant %q", tt.name, err, got, tt.want)
			}
		}
	}
}
