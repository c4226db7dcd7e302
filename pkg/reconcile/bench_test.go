package reconcile

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/engine"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// large is a zone of n records and a node before it, with work for some of its
// record sets: each has two values, of which only the second is usable.
func large(tb testing.TB, class memory.Class, n, steered int) (*Reconciler, *memory.Zone, engine.Work) {
	tb.Helper()
	boot := clock.System()
	zone := memory.NewZone(zoneName, memory.Options{Class: class, Now: boot.Boot})
	work := engine.Work{Zone: zoneName}
	edits := make([]memory.Edit, 0, n)
	for i := range n / 2 {
		name := fmt.Sprintf("h%06d.example.com.", i)
		for _, value := range values[:2] {
			edits = append(edits, memory.Put(name, "A", time.Minute, value))
		}
		if i >= steered {
			continue
		}
		key := record.Key{Zone: zoneName, Name: record.Name(name), Type: record.A}
		spec := &steer.Spec{Key: key, Policy: steer.All, MaxLive: 1, MinLive: 1, OnAllDown: steer.Keep, TTL: time.Minute}
		in := steer.Input{Spec: spec}
		for k, value := range values[:2] {
			spec.Answers = append(spec.Answers, steer.Answer{Value: value, Probe: value})
			usable := steer.Yes
			if k == 0 {
				usable = steer.No
			}
			in.Judged = append(in.Judged, steer.Judged{Usable: usable})
		}
		work.Inputs, work.Steered = append(work.Inputs, in), append(work.Steered, spec)
	}
	if err := zone.EditByHand(edits...); err != nil {
		tb.Fatal(err)
	}
	r := New(Options{
		Zones: []Zone{{Name: zoneName, Adapter: zone.Adapter("node-1")}}, Node: "node-1", Clock: boot,
		Leader: gateFunc(func(time.Duration) error { return nil }), Retry: patient,
	})
	r.Lead(nil, true)
	return r, zone, work
}

// BenchmarkLargeZone lists and plans a zone of 100,000 records, with few record
// sets steered and with half of all. The adapter in memory takes the place of
// the API, so what it costs is the reading of records, not the wire.
func BenchmarkLargeZone(b *testing.B) {
	for _, steered := range []int{10, 25_000} {
		b.Run(fmt.Sprintf("steered=%d", steered), func(b *testing.B) {
			r, _, work := large(b, memory.Rename, 100_000, steered)
			b.ReportAllocs()
			for b.Loop() {
				report := r.Plan(b.Context(), work)
				if report.Err != nil || len(report.Plan.Sets) != steered || !report.Plan.Pending() {
					b.Fatalf("planned %d sets: %v", len(report.Plan.Sets), report.Err)
				}
			}
		})
	}
}

// A zone of 100,000 records is listed and planned in 150 MB, all that is
// allocated on the way counted.
func TestLargeZoneIsPlannedInLittleMemory(t *testing.T) {
	r, _, work := large(t, memory.Rename, 100_000, 1000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if report := r.Plan(t.Context(), work); report.Err != nil || len(report.Plan.Changes()) != 1000 {
		t.Fatalf("planned %d changes: %v", len(report.Plan.Changes()), report.Err)
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 150 {
		t.Errorf("allocated %d MB", got)
	}
}
