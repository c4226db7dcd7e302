package daemon

import (
	"strings"
	"testing"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/config"
)

// TestANodeThatNeverReachedEtcdWaitsAWhile and says so, and then that it writes all the
// same: a freeze may stand there, and a dead etcd must not stop every failover.
func TestANodeThatNeverReachedEtcdWaitsAWhile(t *testing.T) {
	c := &config.Config{}
	c.Leader.Lock = config.LockZone
	d := &Daemon{options: Options{Config: c}, clock: clock.System(), told: make(chan struct{})}
	says := func(part string) {
		t.Helper()
		if got := strings.Join(d.untoldNotices(), "\n"); !strings.Contains(got, part) {
			t.Errorf("it says %q, want %q", got, part)
		}
	}
	d.began = d.clock.Boot() + time.Hour
	if d.untold() == nil {
		t.Error("it writes against what may be a freeze")
	}
	says("nothing is written until etcd answers")
	d.began = d.clock.Boot() - untoldFor
	if err := d.untold(); err != nil {
		t.Errorf("a dead etcd stops every failover: %v", err)
	}
	says("this node writes without knowing what persons said")
	close(d.told)
	if len(d.untoldNotices()) > 0 {
		t.Error("it says so although it heard")
	}
}
