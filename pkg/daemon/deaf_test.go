package daemon

import (
	"strings"
	"testing"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/config"
	"sidestep/pkg/lease/etcd/etcdtest"
)

// A leader whose lease holds writes nothing once it was out of touch with the etcd where
// persons say what holds for every node, and goes on when it hears them again.
func TestALeaderThatDoesNotHearWritesNothing(t *testing.T) {
	members := etcdtest.Start(t, etcdtest.Options{})
	w := realWorld(t)
	virtual := clock.Bubble() // which can stand for a long time
	w.clock = virtual
	w.config.Leader = config.Leader{Lock: config.LockEtcd, Lease: time.Hour}
	w.config.Etcd = config.Etcd{Endpoints: members.Endpoints(), Prefix: "/sidestep"}
	d := w.run()
	open := func() bool { return d.leader.Gate(time.Second) == nil }
	eventually(t, "the gate to open", open)

	members.Members[0].Pause()
	var why error
	eventually(t, "the gate to shut", func() bool {
		virtual.Suspend(deafAfter + time.Second)
		why = d.leader.Gate(time.Second)
		return why != nil
	})
	if !strings.Contains(why.Error(), "nothing is written before this node hears them again") {
		t.Errorf("the gate says %v", why)
	}
	if s := d.status().Leader; s.State != "leader" {
		t.Errorf("the lease, which holds for an hour, was lost: %+v", s)
	}
	members.Members[0].Resume()
	eventually(t, "the gate to open again", open)
}
