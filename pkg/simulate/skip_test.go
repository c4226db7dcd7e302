package simulate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sidestep/pkg/config"
)

// TestLeavingOutChangesNothing draws timelines with stretches in which nothing
// happens, and compares a run that leaves probes out with one that makes all.
func TestLeavingOutChangesNothing(t *testing.T) {
	for name, text := range map[string]string{"all": twoServers, "chain": chain, "canary": withCanary, "cooldown": withCooldown, "sites": withSites, "vantages": withVantages} {
		t.Run(name, func(t *testing.T) {
			c := load(t, text)
			rapid.Check(t, func(t *rapid.T) {
				timeline := drawTimeline(t, c)
				got, notes := play(t, c, timeline, false)
				want, wantNotes := play(t, c, timeline, true)
				if !slices.Equal(got, want) || !slices.Equal(notes, wantNotes) {
					t.Errorf("timeline\n%s\nleft out\n%s\n%s\nwhole\n%s\n%s", timeline,
						strings.Join(got, "\n"), strings.Join(notes, "\n"), strings.Join(want, "\n"), strings.Join(wantNotes, "\n"))
				}
			})
		})
	}
}

// A list that waits behind work which fails is due at once when the lease is lost,
// whether or not the tries of the work were left out.
func TestLeavingOutKeepsWhatWaitsBehindWork(t *testing.T) {
	c := load(t, withCooldown)
	timeline := `0s drain all --for 10m --reason x
0s provider fail example.com
2000s drain all --for 10m --reason x
2000s lease lost
2000s provider ok example.com
2001s provider fail example.com
`
	_, notes := play(t, c, timeline, false)
	if _, want := play(t, c, timeline, true); !slices.Equal(notes, want) {
		t.Errorf("left out\n%s\nwhole\n%s", strings.Join(notes, "\n"), strings.Join(want, "\n"))
	}
}

func drawTimeline(t *rapid.T, c *config.Config) string {
	events := []string{"drain all --for 10m --reason x", "override clear all", "override set pin www 10.0.0.2 --for 20m --reason x", "override clear www", "restart", "restart 40s", "restart 20m", "lease lost", "lease won", "lease won", "provider fail example.com", "provider ok example.com", "provider ok example.com"}
	if len(c.Canary.Targets) > 0 {
		events = append(events, "canary fail", "canary ok", "canary ok")
	}
	for _, text := range slices.Sorted(maps.Keys(namesOf(c).meant)) {
		events = append(events, "up "+text, "up "+text, "down "+text, "down "+text, "unknown "+text)
	}
	for _, site := range c.Sites {
		events = append(events, "approve "+site.Name, "drain "+site.Name+" --for 40m --reason x", "undrain "+site.Name)
	}
	for _, name := range vantagesOf(c) {
		if name != c.Node.Vantage {
			events = append(events, "vantage silent "+name, "vantage back "+name)
		}
		target := "10.0.0.1"
		if name == "dc1" {
			target = "dc2.lan"
		}
		for _, verb := range []string{"down", "up", "unknown"} {
			events = append(events, verb+" "+target+" from "+name)
		}
	}
	var out strings.Builder
	at := 0
	for range rapid.IntRange(1, 8).Draw(t, "events") {
		at += rapid.SampledFrom([]int{0, 1, 5, 10, 17, 60, 300, 900, 2000}).Draw(t, "pause")
		fmt.Fprintf(&out, "%ds %s\n", at, rapid.SampledFrom(events).Draw(t, "event"))
	}
	return out.String()
}

// TestYear: a year is over soon, which on a slow machine is measured by a tenth
// of one.
func TestYear(t *testing.T) {
	c := load(t, withCanary)
	timeline, err := Parse("t", []byte("1h down 10.0.0.1\n4000h up 10.0.0.1\n5000h provider fail example.com\n5000h down 10.0.0.2\n8000h provider ok example.com\n"), c)
	if err != nil {
		t.Fatal(err)
	}
	began, n := time.Now(), 0
	if err := Run(context.Background(), Options{Config: c, Until: 876 * time.Hour, Decision: func(Decision) {}}); err != nil {
		t.Fatal(err)
	}
	limit := max(time.Minute, 60*time.Since(began))
	began = time.Now()
	err = Run(context.Background(), Options{Config: c, Timeline: timeline, Until: 8760 * time.Hour, Decision: func(Decision) { n++ }})
	if took := time.Since(began); err != nil || n != 3 || took > limit {
		t.Errorf("%d decisions in %s, %v", n, took, err)
	} else {
		t.Logf("a year took %s", took)
	}
}

func BenchmarkYear(b *testing.B) {
	c := load(b, withCanary)
	for b.Loop() {
		if err := Run(context.Background(), Options{Config: c, Until: 8760 * time.Hour, Decision: func(Decision) {}}); err != nil {
			b.Fatal(err)
		}
	}
}
