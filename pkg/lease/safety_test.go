package lease

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTrustIsLessThanTheLease(t *testing.T) {
	if got := Trust(30 * time.Second).Round(time.Millisecond); got != 29406*time.Millisecond {
		t.Errorf("a lease of 30s is trusted for %v, expected 29.406s", got)
	}
}

func TestLeastWait(t *testing.T) {
	for _, c := range []struct {
		name string
		wait Wait
		want time.Duration // in whole seconds, rounded up
	}{
		{"signatures that live five minutes, and a clock error", Wait{TTL: 30 * time.Second, Call: 10 * time.Second, Late: 305 * time.Second, Signed: 305 * time.Second}, 298 * time.Second},
		{"calls that come a minute late", Wait{TTL: 30 * time.Second, Call: 10 * time.Second, Late: time.Minute}, 61 * time.Second},
		{"calls that come five minutes late", Wait{TTL: 30 * time.Second, Call: 30 * time.Second, Late: 5 * time.Minute}, 303 * time.Second},
		{"nothing is late", Wait{TTL: 30 * time.Second, Call: 10 * time.Second}, 0},
		{"short signatures", Wait{TTL: time.Minute, Call: 10 * time.Second, Signed: 5 * time.Second}, 0},
	} {
		if got := Seconds(c.wait.Least()); got != c.want {
			t.Errorf("%s: least wait %v, expected %v (%s)", c.name, got, c.want, c.wait.Words())
		}
	}
}

func TestLeastWaitInWords(t *testing.T) {
	signed := Wait{TTL: 30 * time.Second, Call: 10 * time.Second, Late: 305 * time.Second, Signed: 305 * time.Second}.Words()
	if want := "1.01 × ((29.4s trusted − 10s of a call) / 0.99 + 5m5s that a signature lives) − 30s of lease = 4m58s"; signed != want {
		t.Errorf("got  %s\nwant %s", signed, want)
	}
	late := Wait{TTL: 30 * time.Second, Call: 10 * time.Second, Late: time.Minute}.Words()
	if want := "1.01 × (29.4s trusted / 0.99 + 1m that a call may be late) − 30s of lease = 1m1s"; late != want {
		t.Errorf("got  %s\nwant %s", late, want)
	}
}

// The worst case, played with two clocks that run apart: the holder's is slow, so
// that it trusts for longer than it should, and the next leader's is fast, so
// that its wait is over sooner. The last call that the gate let out must not
// take effect after the first take-away of the next leader.
func TestNoCallComesAfterTheWait(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		second := func(name string, least, most int) time.Duration {
			return time.Duration(rapid.IntRange(least, most).Draw(t, name)) * time.Second
		}
		w := Wait{TTL: second("ttl", 5, 120), Call: second("call", 1, 30), Late: second("late", 0, 600), Signed: second("signed", 0, 600)}
		truly := func(own time.Duration, percent int64) time.Duration { // how long it is, when a clock that is off counts own
			return own * 100 / time.Duration(100+percent)
		}
		trusted := truly(Trust(w.TTL), -drift)
		last := trusted + w.Late // as late as a call can take effect
		if w.Signed > 0 {        // signed when the gate was last open for it
			last = truly(Trust(w.TTL)-w.Call, -drift) + w.Signed
		}
		// The lease runs out in etcd no sooner than TTL by a fast clock.
		first := truly(w.TTL, drift) + truly(w.Least(), drift)
		if trusted > first || last > first+time.Microsecond {
			t.Fatalf("%+v: trusted until %v, last effect at %v, first take-away at %v", w, trusted, last, first)
		}
	})
}
