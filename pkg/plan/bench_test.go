package plan_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// big is n record sets of one answer each, all of them usable, and a zone that
// lacks one in a thousand.
func big(n int) ([]steer.Input, plan.Zone) {
	inputs, sets := make([]steer.Input, 0, n), make([]record.Set, 0, n)
	for i := range n {
		s := spec(fmt.Sprintf("h%06d", i), 1)
		s.TTL = time.Minute
		inputs = append(inputs, judge(s, "Y"))
		state := "live"
		if i%1000 == 500 {
			state = "paused"
		}
		sets = append(sets, seen(s.Key, "192.0.2.1 "+state+" 60s"))
	}
	return inputs, zone(sets...)
}

// BenchmarkDiff compares 0.1 % changed zones of two sizes. B/record is what is
// allocated for each record set. The least that a comparison has to do is beside
// it in pkg/bench.
func BenchmarkDiff(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		inputs, z := big(n)
		wanted := decideAll(inputs, z)
		b.Run(fmt.Sprintf("diff/%d", n), func(b *testing.B) {
			perRecord(b, n, func() int { return len(plan.Diff(wanted, z).Changes()) })
		})
		b.Run(fmt.Sprintf("decide/%d", n), func(b *testing.B) {
			perRecord(b, n, func() int { decideAll(inputs, z); return n / 1000 })
		})
	}
}

func decideAll(inputs []steer.Input, z plan.Zone) []steer.Wanted {
	wanted := make([]steer.Wanted, len(inputs))
	for i := range inputs {
		wanted[i] = steer.Decide(inputs[i], z.Sets[i])
	}
	return wanted
}

func perRecord(b *testing.B, n int, run func() int) {
	b.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		if got := run(); got != n/1000 {
			b.Fatalf("found %d changes, want %d", got, n/1000)
		}
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/float64(n), "B/record")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/record")
}
