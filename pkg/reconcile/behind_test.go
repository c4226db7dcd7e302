package reconcile

import (
	"testing"
	"testing/synctest"
	"time"
)

// A name server that is stuck agrees when the zone comes back to what it has: it was
// not seen to move, and the write before took at least as long as it was asked for.
func TestLateServerThatIsStuckIsNoMeasurement(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, _, late := lagging(t, time.Hour)
		n := w.only()
		time.Sleep(95 * time.Second)
		n.write.Submit(w.want(values[0], values[1]))
		time.Sleep(time.Minute)
		synctest.Wait()
		told := late()
		if len(told) != 2 || told[0].Verified || !told[1].Verified {
			t.Fatalf("got %+v", told)
		}
		if h := told[0].Heard[1]; h.AtLeast < lateFirst/2 || h.Superseded != 0 {
			t.Errorf("while it lags: %+v", h)
		}
		if h := told[1].Heard[0]; h.Unmoved || h.Took > time.Second || h.Superseded != 0 {
			t.Errorf("the punctual one: %+v", h)
		}
		if h := told[1].Heard[1]; !h.Unmoved || h.Superseded < 80*time.Second || h.Superseded > 95*time.Second {
			t.Errorf("the stuck one: %+v", h)
		}
	})
}

// The clock of a name server runs from the acceptance of the write up to its answer:
// newer work that writes nothing, and lets the others be asked again, is not counted.
func TestLatePunctualServersAreNotAskedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, _, late := lagging(t, 8*time.Second)
		n := w.only()
		time.Sleep(5 * time.Second)
		n.write.Submit(w.want(values[1]))
		time.Sleep(time.Minute)
		synctest.Wait()
		told := late()
		if len(told) == 0 || !told[len(told)-1].Verified {
			t.Fatalf("got %+v", told)
		}
		heard := told[len(told)-1].Heard
		if heard[0].Took != 0 || heard[1].Took < 8*time.Second || heard[1].Took > 10*time.Second {
			t.Errorf("got %+v", heard)
		}
	})
}
