package daemon

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/cluster"
	"sidestep/pkg/config"
	"sidestep/pkg/lease/etcd"
	"sidestep/pkg/lease/etcd/etcdtest"
	"sidestep/pkg/provider/memory"
)

// squad is some nodes that steer one zone, with a lease in an etcd between them. Each
// hears every two seconds what the others say of themselves.
type squad struct {
	*testing.T

	model *etcdtest.Model
	nodes []*running

	mu    sync.Mutex
	heard map[string]cluster.Node
}

// newSquad starts nodes with a canary, one after the other, each with its own view of
// the world.
func newSquad(t *testing.T, names ...string) *squad {
	t.Helper()
	s := &squad{T: t, model: etcdtest.NewModel(0), heard: map[string]cluster.Node{}}
	base := newWorld(t, memory.Options{Class: memory.Rename, Lag: time.Second})
	base.config.Canary = canaryOf(anchors[0])
	base.config.Leader = config.Leader{Lock: config.LockFile, Lease: time.Minute}
	for _, name := range names {
		w := *base
		cfg := *base.config
		cfg.Node = config.Node{Name: name, Vantage: name}
		cfg.State.Dir = filepath.Join(memoryDir(t), "state")
		w.config, w.site, w.log = &cfg, newSite(), &logBook{}
		s.nodes = append(s.nodes, s.start(&w))
		time.Sleep(settled)
	}
	return s
}

func (s *squad) start(w *world) *running {
	s.Helper()
	d, err := New(w.options())
	if err != nil {
		s.Fatal(err)
	}
	line := s.model.Line(w.config.Node.Name)
	way := etcd.NewWay(etcd.Settings{Endpoints: []string{"http://etcd.example.net:2379"}, Dial: line.Options()})
	client, err := way.Client()
	if err != nil {
		s.Fatal(err)
	}
	client.Watcher = line.Watcher()
	shared := etcd.New(etcd.Options{Way: way, Prefix: "/sidestep", Node: w.config.Node.Name, TTL: w.config.Leader.Lease, Clock: clock.Bubble()})
	d.way, d.leader.lease, d.leader.end, d.options.Config.Leader.Lock = way, shared, shared.Close, config.LockEtcd
	d.peers = s.list
	r := w.start(d)
	go s.beat(r)
	return r
}

// beat tells the others of a node until it ends.
func (s *squad) beat(r *running) {
	for {
		select {
		case <-r.done:
			return
		default:
		}
		status, err := r.Status(s.Context(), "")
		if err != nil {
			return // it ends at this very moment
		}
		blind := status.Canary.State == "fail"
		n := cluster.Node{
			Name: r.w.config.Node.Name, Host: "host-" + r.w.config.Node.Name, PID: 7, Heard: r.clock.Boot(),
			Blind: blind, Leads: r.writesSome(), Stands: r.stands(), Wrote: r.tellWrites(),
		}
		s.mu.Lock()
		s.heard[n.Name] = n
		s.mu.Unlock()
		if wait(s.Context(), cluster.Beat); s.Context().Err() != nil {
			return
		}
	}
}

func (s *squad) list() (list []cluster.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.heard)) {
		list = append(list, s.heard[name])
	}
	return list
}

// leaders are those who led, in their order, as etcd has it.
func (s *squad) leaders() string {
	var names []string
	for _, turn := range s.model.Turns() {
		if turn.Line != "" {
			names = append(names, turn.Line)
		}
	}
	return strings.Join(names, " ")
}

func (s *squad) mustLead(names string) {
	s.Helper()
	if led := s.leaders(); led != names {
		s.Errorf("led: %s; expected %s", led, names)
	}
}

// mustSay sees that a notice of each node has the words.
func (s *squad) mustSay(words string) {
	s.Helper()
	for _, n := range s.nodes {
		if notices := strings.Join(n.status().Notices, "\n"); !strings.Contains(notices, words) {
			s.Errorf("node %s does not say %q: %q", n.w.config.Node.Name, words, notices)
		}
	}
}

// TestABlindLeaderGivesTheLeadToOneThatSees: three nodes share an etcd, the canary of
// the one that leads dies, then a server. The leader gives the lead up in order, once,
// to one that sees, and does not come back to it when it sees again.
func TestABlindLeaderGivesTheLeadToOneThatSees(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		s := newSquad(t, "a", "b", "c")
		first, second, third := s.nodes[0], s.nodes[1], s.nodes[2]
		first.w.site.fail(a)
		second.w.site.fail(a)
		third.w.site.fail(a)
		time.Sleep(settled)
		first.w.mustLive(b) // so that the leader holds the stamp

		first.w.site.fail(anchors[0])
		for _, n := range s.nodes {
			n.w.site.heal(a)
			n.w.site.fail(b)
		}
		time.Sleep(2*CanaryEvery + 3*time.Second)
		s.mustSay("node a leads and is blind: its canary fails, and as long as that is so nobody writes; once that lasts 15s it gives the lead up, since node b sees")
		s.mustLead("a")
		time.Sleep(yieldAfter)
		s.mustLead("a b")
		released := slices.ContainsFunc(first.w.zones[home].History(), func(v memory.Version) bool {
			return v.Cause.Node == "a" && slices.ContainsFunc(v.Records, func(r memory.Record) bool {
				text := fmt.Sprint(r)
				return strings.Contains(text, "holder=a") && strings.Contains(text, "released=1")
			})
		})
		if !released {
			t.Error("the one that gave way did not release its stamp")
		}
		time.Sleep(settled)
		first.w.mustLive(a)
		l := first.status().Leader
		if l.State != "standby" || !strings.HasPrefix(l.Holder, "b (process 7 on host-b") || !strings.Contains(l.Detail, "this node is blind, its canary fails; it waits for the lead again when") {
			t.Errorf("the blind one says %+v", l)
		}
		if lines := first.w.log.with("WARN giving up the lead"); len(lines) != 1 || !strings.Contains(lines[0], "leaves the lead to node b, which sees") {
			t.Errorf("its log: %q", lines)
		}
		lost := first.w.journal("leader")[1]
		if lost["what"] != "lost" || !strings.Contains(fmt.Sprint(lost["detail"]), "leaves the lead to node b, which sees") {
			t.Errorf("its journal: %v", lost)
		}

		// Nobody sees: the lead stays where it is.
		second.w.site.fail(anchors[0])
		third.w.site.fail(anchors[0])
		time.Sleep(3 * time.Minute)
		s.mustLead("a b")
		s.mustSay("node b leads and is blind: its canary fails, and as long as that is so nobody writes; no other node is heard that sees and waits for the lead, so it stays there")

		// The first to see again gets it, and keeps it whoever sees besides.
		third.w.site.heal(anchors[0])
		time.Sleep(time.Minute)
		s.mustLead("a b c")
		first.w.site.heal(anchors[0])
		second.w.site.heal(anchors[0])
		time.Sleep(3 * time.Minute)
		s.mustLead("a b c")
		if l := first.status().Leader; l.State != "standby" || strings.Contains(l.Detail, "blind") || !strings.HasPrefix(l.Holder, "c") {
			t.Errorf("when it sees again it says %+v", l)
		}
	})
}

// A canary that fails now and then, and one that fails for a moment at all nodes, move
// nothing.
func TestALeaderThatIsBlindForAMomentStays(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		s := newSquad(t, "a", "b")
		for range 5 {
			s.nodes[0].w.site.fail(anchors[0])
			time.Sleep(yieldAfter - 2*time.Second)
			s.nodes[0].w.site.heal(anchors[0])
			time.Sleep(2 * CanaryEvery)
		}
		s.mustLead("a")
		for _, n := range s.nodes {
			n.w.site.fail(anchors[0])
		}
		time.Sleep(3 * time.Minute)
		s.mustLead("a")
	})
}

// A blind node that waits leaves its place to one that came later and sees.
func TestABlindStandbyDoesNotLead(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		s := newSquad(t, "a", "b", "c")
		s.nodes[1].w.site.fail(anchors[0])
		time.Sleep(time.Minute)
		s.nodes[0].end()
		time.Sleep(time.Minute)
		s.mustLead("a c")
	})
}
