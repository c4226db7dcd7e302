package generic

import (
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
