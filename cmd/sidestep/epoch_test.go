package main

import (
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"sidestep/pkg/lease/etcd/etcdtest"
)

// revokeLeader ends the lease of who leads, as an operator can.
func revokeLeader(t *testing.T, c *etcdtest.Cluster) {
	t.Helper()
	client := c.Client(t)
	defer client.Close()
	got, err := client.Get(t.Context(), "/sidestep/test/leader/", clientv3.WithFirstCreate()...)
	if err != nil || len(got.Kvs) != 1 {
		t.Fatalf("who leads? %v, %v", got, err)
	}
	if _, err := client.Revoke(t.Context(), clientv3.LeaseID(got.Kvs[0].Lease)); err != nil {
		t.Fatal(err)
	}
}

// TestTwoNodesStaleLeaderStepsDown cuts the leader off from etcd and ends its lease
// there by hand. The other one leads at once and writes, with a higher epoch. The
// first, whose own clock gives it minutes yet, is told to write: it sees the
// later leader's stamp, writes nothing and says why.
func TestTwoNodesStaleLeaderStepsDown(t *testing.T) {
	t.Parallel()
	p := startDuoAt(t, hostedNamed("cloudflare"), 2, etcdtest.Start(t, etcdtest.Options{}), "5m")
	stale, next := p.nodes[0], p.nodes[1]
	if code, out, errOut := stale.sidestep("reconcile"); code != 0 { // its last list is behind it
		t.Fatalf("reconcile exited with %d:\n%s%s", code, out, errOut)
	}
	stale.etcd.set(true)
	revokeLeader(t, p.etcd)
	next.waitLeader("leader", "mon-2")
	if code, out, errOut := next.sidestep("drain", ip(p.backends[0]), "--for", "1h", "--reason", "new kernel"); code != 0 {
		t.Fatalf("drain exited with %d: %s%s", code, out, errOut)
	}
	p.wait("the second answer", func() bool { return p.live() == ip(p.backends[1]) })
	before := p.writes(0)
	if l := stale.mustStatus().Leader; l.State != "leader" || time.Until(*l.Until) < time.Minute {
		t.Fatalf("the first was to believe that it leads: %+v", l)
	}
	code, out, errOut := stale.sidestep("reconcile")
	if said := out + errOut; code != 4 || !strings.Contains(said, "its stamp is of mon-2 with epoch ") || !strings.Contains(said, "this node steps down and queues for the lease anew") {
		t.Errorf("reconcile exited with %d, expected 4 and the later leader:\n%s", code, said)
	}
	if l := stale.mustStatus().Leader; l.State == "leader" {
		t.Errorf("still says that it leads: %+v", l)
	}
	p.silent(0, before)
	stale.etcd.set(false)
	stale.waitLeader("standby", "mon-2")
	p.silent(0, before)
}

// TestTwoNodesEtcdBuiltAnew kills the leader, and etcd with all that it knew. The one
// that comes in its place counts from 1 again, so that the stamp in the zone has a
// higher epoch than anybody will have for long. The second node leads and says what
// it waits for, and writes once the stamp stood still for long enough.
func TestTwoNodesEtcdBuiltAnew(t *testing.T) {
	t.Parallel()
	together(t, map[string]anew{
		"at the same addresses": {
			func(t *testing.T, p *duo) { p.etcd.BuildAnew(t) },
			"and this etcd, of the same id, has only come to ",
		},
		"elsewhere": {
			func(t *testing.T, p *duo) {
				p.etcd.Members[0].Kill()
				p.nodes[1].etcd.lead(etcdtest.Start(t, etcdtest.Options{}).Members[0].Addr)
			},
			"which led by another etcd (cluster id ",
		},
	}, builtAnew)
}

// anew is an etcd that takes the place of another, and why its leader waits.
type anew struct {
	build func(*testing.T, *duo)
	why   string
}

func builtAnew(t *testing.T, c anew) {
	t.Helper()
	const grown = 500
	etcd := etcdtest.Start(t, etcdtest.Options{})
	etcd.Grow(t, grown)
	p := startDuoAt(t, hostedNamed("cloudflare"), 2, etcd, "10s")
	second := p.nodes[1]
	p.nodes[0].kill()
	c.build(t, p)
	p.breakFirst()
	second.waitLeader("leader", "mon-2")
	waits := time.Time{}
	p.wait("status to say what it waits for", func() bool {
		s := second.status()
		if s == nil || s.Zones[0].Waits == nil {
			return false
		}
		waits = s.Zones[0].Waits.Until
		return strings.Contains(s.Zones[0].Waits.Why, "the stamp is of mon-1") && strings.Contains(s.Zones[0].Waits.Why, c.why)
	})
	if time.Until(waits) < 10*time.Second {
		t.Errorf("waits until %v, expected two leases", waits)
	}
	p.wait("the second answer", func() bool { return p.live() == ip(p.backends[1]) })
	if early := time.Until(waits); early > time.Second {
		t.Errorf("%s wrote %v before the end of the silence", second.config, early)
	}
	if epoch := stampField(t, p, "epoch"); epoch >= grown {
		t.Errorf("the epoch in the stamp is %d: it did not begin again", epoch)
	}
}

// stampField is a number in the stamp of a zone.
func stampField(t *testing.T, p *duo, field string) int {
	t.Helper()
	_, rest, found := strings.Cut(strings.Join(p.cloud.all(), "\n"), " "+field+"=")
	n, err := strconv.Atoi(strings.FieldsFunc(rest, func(r rune) bool { return r < '0' || r > '9' })[0])
	if !found || err != nil {
		t.Fatalf("no stamp with %s: %v", field, p.cloud.all())
	}
	return n
}
