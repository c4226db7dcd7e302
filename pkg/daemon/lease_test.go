package daemon

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/control"
)

// Where the lease is between nodes with a directory each, a standby keeps what it
// is told, and a second process on its directory says who holds that.
func TestStandbyWithADirectoryOfItsOwn(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		l := &lostLease{won: make(chan struct{}, 1)} // mon-2 has it
		d, err := New(w.options())
		if err != nil {
			t.Fatal(err)
		}
		d.leader.lease = l
		r := w.start(d)
		time.Sleep(settled)
		if s := r.status().Leader; s.State != "standby" || s.Holder != "mon-2" {
			t.Errorf("status says %+v", s)
		}
		word := control.OverrideRequest{Kind: "drain", Target: a, Reason: "maintenance", For: "1h"}
		if _, err := r.Override(t.Context(), word, "ops"); err != nil {
			t.Errorf("a standby keeps no override: %v", err)
		}
		if n := len(w.saved().Payload.Overrides); n != 1 {
			t.Errorf("%d overrides are saved", n)
		}
		second, err := New(w.options())
		if err != nil {
			t.Fatal(err)
		}
		second.leader.lease = l
		other := w.start(second)
		time.Sleep(settled)
		if s := other.status().Leader; s.State != "standby" || !strings.HasPrefix(s.Holder, "mon-1 (process") || !strings.Contains(s.Detail, filepath.Base(w.config.State.Dir)) {
			t.Errorf("the second process says %+v", s)
		}
		if _, err := other.Override(t.Context(), word, "ops"); control.ExitOf(err) != control.ExitNotLeader {
			t.Errorf("and keeps what it is told: %v", err)
		}
		if w.touched() {
			t.Error("written without a lease")
		}
		l.won <- struct{}{}
		time.Sleep(settled)
		if s := r.status().Leader; s.State != "leader" {
			t.Errorf("with the lease status says %+v", s)
		}
		w.mustLive(b)
	})
}
