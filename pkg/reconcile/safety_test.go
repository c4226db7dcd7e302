package reconcile

import (
	"testing"
	"time"

	"sidestep/pkg/provider"
)

// A leader that won a lease from another node takes nothing away before a call of
// that one can have taken effect and a list would show it, even where the provider
// is quiet sooner; what it knows of itself does not shorten that.
func TestALeadershipBeginsWithTheSafetyPeriod(t *testing.T) {
	promises := provider.Promises{Late: 10 * time.Second, Lag: 2 * time.Second}
	for _, c := range []struct{ safety, fresh, want time.Duration }{
		{0, 0, 12 * time.Second},
		{5 * time.Second, 0, 12 * time.Second},
		{11 * time.Second, 0, 13 * time.Second},
		{time.Minute, 0, 62 * time.Second},
		{time.Minute, 20 * time.Second, 82 * time.Second},
	} {
		d := newDoubts(time.Hour, provider.Promises{})
		d.retime(time.Hour, promises, c.safety)
		d.begin(2*time.Hour, false, c.fresh)
		if got := d.allOpen() - 2*time.Hour; got != c.want || d.lead() != c.want {
			t.Errorf("safety %v: in doubt for %v, said %v, expected %v", c.safety, got, d.lead(), c.want)
		}
	}
}

func TestNoCallIsGivenLongerThanTheLeaseIsSureOf(t *testing.T) {
	for _, c := range []struct{ adapter, lease, want time.Duration }{
		{30 * time.Second, 0, 30 * time.Second},
		{30 * time.Second, 19 * time.Second, 19 * time.Second},
		{10 * time.Second, 19 * time.Second, 10 * time.Second},
	} {
		w := &worker{options: &Options{Call: c.lease}, zone: Zone{Adapter: promising{promises: provider.Promises{Call: c.adapter}}}}
		if got := w.deadline(); got != c.want {
			t.Errorf("an adapter that asks for %v under a lease that is sure of %v: %v, expected %v", c.adapter, c.lease, got, c.want)
		}
	}
}

type promising struct {
	provider.Adapter
	promises provider.Promises
}

func (p promising) Promises() provider.Promises { return p.promises }
