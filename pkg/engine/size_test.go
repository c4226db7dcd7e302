package engine

import (
	"testing"
	"time"
	"unsafe"

	"sidestep/pkg/check"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// With ten thousand targets each byte of one is ten kilobytes.
func TestTallyIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(tally{}); size > 64 {
		t.Errorf("a tally takes %d bytes, at most 64 are meant", size)
	}
}

// What is seldom needed of a target stands behind a pointer that is nil for most.
func TestTargetIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(target{}); size > 320 {
		t.Errorf("a target takes %d bytes, at most 320 are meant", size)
	}
	if size := unsafe.Sizeof(cooldown{}); size > 48 {
		t.Errorf("the pauses of a target take %d bytes, at most 48 are meant", size)
	}
}

// How the answers were judged before a moment is kept for that moment alone.
func TestWhatWasBeforeAMomentIsForgotten(t *testing.T) {
	const address, zone = "192.0.2.1", record.Name("example.com.")
	web := &check.Spec{Name: "web", Kind: check.KindTCP, TCP: &check.TCP{Port: 443}, Interval: time.Second, Timeout: time.Second / 2, Fall: 1, Rise: 1}
	e := New(Config{
		Zones: []record.Name{zone}, Checks: map[string]*check.Spec{"web": web},
		Sets: []*steer.Spec{{
			Key: record.Key{Zone: zone, Name: zone.Below("www"), Type: record.A}, TTL: time.Minute, Policy: steer.All, OnAllDown: steer.Keep,
			Checks: []string{"web"}, Answers: []steer.Answer{{Value: address, Probe: address}},
		}},
	}, Now{Boot: time.Second})
	pass := check.Result{Target: check.Target{Check: "web", Address: address}, Outcome: check.Pass, Start: time.Second, End: time.Second}
	e.Step(Now{Boot: time.Minute}, Results{Results: []check.Result{pass}})
	if e.sets[0].moment.judged == nil {
		t.Error("the moment of a verdict does not know what was before it")
	}
	e.View(Now{Boot: time.Hour})
	e.Step(Now{Boot: time.Hour}, Tick{})
	if e.sets[0].moment.judged != nil || len(e.present.judged) > 0 {
		t.Error("what was before a moment is kept after it")
	}
}
