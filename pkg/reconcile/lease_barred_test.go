package reconcile

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/provider/memory"
)

// barrier keeps a process from writing until it is lifted.
type barrier struct {
	open

	lifted atomic.Bool
}

func (b *barrier) Gate(time.Duration) error {
	if b.lifted.Load() {
		return nil
	}
	return errors.New("the lease of the process was not won yet")
}

// A standby that might not write at all at first, and that is woken more often than it
// asks whether it may, looks at the stamp all the same: the leader that dies is
// followed in time.
func TestABusyStandbyLooksAtTheStamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPack(t, memory.Options{Class: memory.Rename}, 1)
		defer p.end()
		time.Sleep(time.Minute)
		if !p.wolf[0].leading() {
			t.Fatal("the first does not lead")
		}
		bar := &barrier{}
		p.may = bar
		p.add(1)
		bar.lifted.Store(true)
		p.wolf[0].kill()
		second := p.wolf[1]
		most := leaseTimes.Takeover + 2*leaseTimes.Poll + leaseTimes.Call
		for began := time.Now(); !second.leading(); time.Sleep(barredPause / 2) {
			if time.Since(began) > most {
				t.Fatalf("nobody leads %s after the leader died", most)
			}
			second.write.Look(zoneName)
		}
	})
}
