package bench

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// Planning is what a plan of n record sets costs, one in a thousand of which has
// to change, beside the least that any comparison has to do.
type Planning struct {
	Records int
	Floor   time.Duration // a map of what is there, and a look-up of what is wanted
	Plan    time.Duration
	Decide  time.Duration // deciding what is wanted, which comes before
	Bytes   float64       // allocated by the plan for each record set
}

// planTries is how often each is timed; the median counts.
const planTries = 9

func measurePlanning(n int) (Planning, error) {
	inputs, zone := planWorld(n)
	wanted := make([]steer.Wanted, n)
	p := Planning{Records: n}
	p.Decide, _ = timed(func() {
		for i := range inputs {
			wanted[i] = steer.Decide(inputs[i], zone.Sets[i])
		}
	})
	changes := 0
	p.Floor, _ = timed(func() { changes = mapFloor(wanted, zone) })
	if changes != n/1000 {
		return p, fmt.Errorf("the floor found %d changes of %d", changes, n/1000)
	}
	p.Plan, p.Bytes = timed(func() { changes = len(plan.Diff(wanted, zone).Changes()) })
	if changes != n/1000 {
		return p, fmt.Errorf("the plan has %d changes of %d", changes, n/1000)
	}
	p.Bytes /= float64(n)
	return p, nil
}

// timed gives the median time of a call, and the bytes that one allocates.
func timed(run func()) (time.Duration, float64) {
	times := make([]time.Duration, planTries)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range times {
		began := time.Now()
		run()
		times[i] = time.Since(began)
	}
	runtime.ReadMemStats(&after)
	slices.Sort(times)
	return quantile(times, 0.5), float64(after.TotalAlloc-before.TotalAlloc) / planTries
}

// planWorld is n record sets of one usable answer, and a zone in which one in a
// thousand of the answers is paused.
func planWorld(n int) ([]steer.Input, plan.Zone) {
	const home = record.Name("example.com.")
	inputs, zone := make([]steer.Input, n), plan.Zone{Name: home, Sets: make([]record.Set, n)}
	const value = "192.0.2.1"
	for i := range n {
		key := record.Key{Zone: home, Name: home.Below(fmt.Sprintf("h%07d", i)), Type: record.A}
		inputs[i] = steer.Input{
			Spec: &steer.Spec{
				Key: key, TTL: time.Minute, Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep,
				Answers: []steer.Answer{{Value: value, Probe: value}},
			},
			Judged: []steer.Judged{{Usable: steer.Yes, Why: "up"}},
		}
		live := i%1000 != 500
		zone.Sets[i] = record.Set{Key: key, Answers: []record.Answer{{Value: value, TTL: time.Minute, Weight: 1, Live: live, Paused: !live}}}
	}
	return inputs, zone
}

func mapFloor(wanted []steer.Wanted, zone plan.Zone) int {
	there := make(map[record.Key]*record.Set, len(zone.Sets))
	for i := range zone.Sets {
		there[zone.Sets[i].Key] = &zone.Sets[i]
	}
	differ := 0
	for i := range wanted {
		s, found := there[wanted[i].Spec.Key]
		if !found || !s.Answers[0].Live || s.Answers[0].Value != wanted[i].Live[0] {
			differ++
		}
	}
	return differ
}
