package generic

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// A value is not left out of the answer for a TTL that the provider would
// refuse: it gets the smallest that there is, and no plan asks for another.
func TestTTLIsRaisedToTheSmallest(t *testing.T) {
	minute := rr("_sidestep-paused.www.example.com.", "TXT", "v=sidestep1 type=A value="+one+" ttl=60 at=10")
	for _, ttl := range []time.Duration{0, time.Second, 5 * time.Minute, time.Hour} {
		a, _ := setup(t, habits{}, Known{MinTTL: 5 * time.Minute}, minute, rr("www.example.com.", "A", two))
		for _, c := range []record.Change{
			{Action: record.Resume, Key: www, Value: one, TTL: ttl},
			{Action: record.Create, Key: www, Value: "192.0.2.3", TTL: ttl},
		} {
			if err := a.Add(t.Context(), provider.Call{Key: www, Seen: listed(t, a), Add: []record.Change{c}}); err != nil {
				t.Fatal(err)
			}
			if got, _ := listed(t, a).Set(www).Find(c.Value); got.TTL != max(ttl, 5*time.Minute) || !got.OwnTTL {
				t.Errorf("%s with a TTL of %v: %+v", c.Action, ttl, got)
			}
		}
	}
}

// A copy of a time that no clock has is not the newest for ever: a pause makes
// one of its own beside it, and no more than one, and goes on.
func TestCopyFromTheFarFuture(t *testing.T) {
	for _, at := range []string{"9223372036854775807", "9223372036854775808", "-1", strconv.FormatInt(time.Now().Add(48*time.Hour).Unix(), 10)} {
		forged := rr("_sidestep-paused.www.example.com.", "TXT", "v=sidestep1 type=A value="+one+" ttl=77 at="+at)
		a, l := setup(t, habits{}, Known{}, append(twoAddresses(), forged)...)
		for range 3 {
			if err := a.TakeAway(t.Context(), pauseOne(listed(t, a))); err != nil {
				t.Fatal(err)
			}
		}
		if got := l.live(); !slices.Equal(got, []string{two}) || len(l.records) != 3 {
			t.Errorf("at=%s: live %v, records %v", at, got, l.records)
		}
		if got, _ := listed(t, a).Set(www).Find(one); !got.Paused || got.TTL != 5*time.Minute {
			t.Errorf("at=%s: paused as %+v", at, got)
		}
	}
}
