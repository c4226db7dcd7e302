package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sidestep/pkg/lease/etcd/etcdtest"
)

// isles are two nodes in networks of their own, each with one cable to the network
// of the etcd, 10.9.0.0/24, and one to that of the provider's API, 10.9.1.0/24. Node
// N has .N there. In the hub, .254, is the API, and the etcd, unless each node has a
// member beside it, and a third one is alone.
type isles struct {
	t     *testing.T
	hub   *netns
	nets  []*netns
	nodes []*world
	webs  [][]*double // of each node, the answers as it reaches them
	cloud *cloud
}

var islesAnswers = []string{"127.0.0.11", "127.0.0.12"}

func startIsles(t *testing.T, members int) *isles {
	t.Helper()
	s := &isles{t: t, hub: newNetns(t, "hub"), cloud: startCloudflare(t, islesAnswers...)}
	s.cloud.answers = islesAnswers
	for _, bridge := range []string{"etcd", "api"} {
		s.hub.ip("link", "add", bridge, "type", "bridge")
		s.hub.ip("link", "set", bridge, "up")
	}
	s.hub.ip("addr", "add", "10.9.0.254/24", "dev", "etcd")
	s.hub.ip("addr", "add", "10.9.1.254/24", "dev", "api")
	for i := range max(2, members) {
		s.attach(i + 1)
	}
	endpoints := s.startEtcd(members)
	for i := range 2 {
		s.startNode(i+1, endpoints)
	}
	return s
}

// attach makes the network of a node.
func (s *isles) attach(n int) {
	s.t.Helper()
	own := newNetns(s.t, fmt.Sprint("n", n))
	for i, bridge := range []string{"etcd", "api"} {
		far := fmt.Sprint(bridge, n)
		own.ip("link", "add", bridge, "type", "veth", "peer", "name", far, "netns", s.hub.name)
		own.ip("addr", "add", fmt.Sprintf("10.9.%d.%d/24", i, n), "dev", bridge)
		own.ip("link", "set", bridge, "up")
		s.hub.ip("link", "set", far, "master", bridge, "up")
	}
	s.nets = append(s.nets, own)
}

// startEtcd runs one member in the hub, or several, each beside a node.
func (s *isles) startEtcd(members int) (endpoints string) {
	s.t.Helper()
	at := map[string]*netns{"10.9.0.254": s.hub}
	if members > 1 {
		at = map[string]*netns{}
		for i := range members {
			at[fmt.Sprint("10.9.0.", i+1)] = s.nets[i]
		}
	}
	var peers, clients []string
	for addr := range at {
		peers = append(peers, fmt.Sprintf("m%s=http://%s:2380", addr, addr))
		clients = append(clients, fmt.Sprintf("http://%s:2379", addr))
	}
	slices.Sort(clients)
	for addr, where := range at {
		cmd := exec.Command(etcdtest.Program(s.t), "-name", "m"+addr, "-dir", s.t.TempDir(), "-cluster", strings.Join(peers, ","),
			"-client", "http://"+addr+":2379", "-peer", "http://"+addr+":2380")
		var err error
		where.inside(func() { err = cmd.Start() })
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	}
	return strings.Join(clients, `", "`)
}

// startNode runs a node with its answers beside it, and waits for its place.
func (s *isles) startNode(n int, endpoints string) {
	s.t.Helper()
	own := s.nets[n-1]
	var webs []*double
	for _, addr := range islesAnswers {
		webs = append(webs, own.double(addr+":80"))
	}
	front := startFront(s.t, s.cloud)
	var api net.Listener
	var err error
	s.hub.inside(func() { api, err = net.Listen("tcp", fmt.Sprint("10.9.1.254:", 8000+n)) })
	if err != nil {
		s.t.Fatal(err)
	}
	relayFrom(s.t, api, strings.TrimPrefix(front.URL, "http://"))
	w := &world{t: s.t, dir: shortDir(s.t), env: s.cloud.environ()}
	w.config = filepath.Join(w.dir, "sidestep.yaml")
	text := s.cloud.configFor(w.dir, pace{300 * time.Millisecond, 100 * time.Millisecond}, "80", front)
	text = strings.Replace(text, front.URL, "http://"+api.Addr().String(), 1)
	text = strings.Replace(text, "verify: {dns: false}", "verify: {dns: false}\n    insecure: true", 1)
	text = strings.Replace(text, "walker", fmt.Sprint("mon-", n), 1)
	text += fmt.Sprintf("leader: {lock: etcd, lease: 10s}\netcd: {endpoints: [\"%s\"], insecure: true, prefix: /sidestep/test}\n", endpoints)
	if err := os.WriteFile(w.config, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if _, err := builtBinary(); err != nil {
		s.t.Fatal(err)
	}
	own.inside(func() { w.run() })
	s.nodes, s.webs = append(s.nodes, w), append(s.webs, webs)
	s.place(n, []string{"leader", "standby"}[n-1], "mon-1")
	w.wait("it to judge both answers", func() bool { return s.judged(n, "up") })
}

// place waits for the place of a node among the two.
func (s *isles) place(n int, state, holder string) {
	s.t.Helper()
	(&member{world: s.nodes[n-1]}).waitLeader(state, holder)
}

func (s *isles) judged(n int, first string) bool {
	status := s.nodes[n-1].status()
	return status != nil && len(status.Targets) == 2 && status.Targets[0].Verdict == first && status.Targets[1].Verdict == "up"
}

// first stops the first answer for every node, or starts it again.
func (s *isles) first(up bool) {
	s.t.Helper()
	for _, webs := range s.webs {
		if up {
			webs[0].start()
		} else {
			webs[0].stop()
		}
	}
}

func (s *isles) answers(value string) {
	s.t.Helper()
	s.nodes[0].wait("the name to answer with "+value, func() bool { return s.cloud.live() == value })
}

// writers are the nodes whose writes took effect, in order, each once for as long as
// no other came between.
func (s *isles) writers() []string {
	var out []string
	for _, line := range s.cloud.history() {
		if m := stampPosted.FindStringSubmatch(line); m != nil {
			out = append(out, m[1])
		}
	}
	return slices.Compact(out)
}

var stampPosted = regexp.MustCompile(`post .*holder=(mon-[12])`)

// cut is a fault of the links of the first node, which leads.
type cut struct {
	members int
	cut     func(*isles)
	heal    func(*isles)
	stays   bool // it leads on
}

func hubLink(verb string, links ...string) func(*isles) {
	return func(s *isles) {
		for _, link := range links {
			s.hub.ip("link", "set", link, verb)
		}
	}
}

// deaf lets the hub lose what it has to say to the first node, by one net.
func deaf(verb, net string) func(*isles) {
	return func(s *isles) { s.hub.ip("route", verb, "blackhole", "10.9."+net+".1/32") }
}

// mute lets the first node lose what it has to say to the hub.
func mute(verb, net string) func(*isles) {
	return func(s *isles) { s.nets[0].ip("route", verb, "blackhole", "10.9."+net+".254/32") }
}

var cuts = map[string]cut{
	"from etcd":                         {cut: hubLink("down", "etcd1"), heal: hubLink("up", "etcd1")},
	"from etcd and the provider":        {cut: hubLink("down", "etcd1", "api1"), heal: hubLink("up", "etcd1", "api1")},
	"from the provider":                 {cut: hubLink("down", "api1"), heal: hubLink("up", "api1"), stays: true},
	"hears nothing of etcd":             {cut: deaf("add", "0"), heal: deaf("del", "0")},
	"cannot be heard by etcd":           {cut: mute("add", "0"), heal: mute("del", "0")},
	"hears nothing of the provider":     {cut: deaf("add", "1"), heal: deaf("del", "1"), stays: true},
	"with one etcd member of the three": {members: 3, cut: hubLink("down", "etcd1"), heal: hubLink("up", "etcd1")},
}

// TestPartitions cuts the leader off, by its cables and routes, from one thing or
// another, for as long as its lease lasts and longer; meanwhile the first answer
// dies. Who is cut off from etcd has stopped writing when the other one begins; who
// is cut off from the provider alone leads on, and nobody writes in its place. After
// it is healed the first answer comes back, and the leader of that time writes it.
// One node writes at any time, and the name always answers: see front.look.
func TestPartitions(t *testing.T) {
	t.Parallel()
	newNetns(t, "may-I")
	together(t, cuts, func(t *testing.T, c cut) { c.run(startIsles(t, c.members)) })
}

// together runs tests beside each other that do little but wait: all of them take
// the place of one among those that run in parallel.
func together[C any](t *testing.T, cases map[string]C, run func(*testing.T, C)) {
	t.Helper()
	var group sync.WaitGroup
	for name, c := range cases {
		group.Go(func() { t.Run(name, func(t *testing.T) { run(t, c) }) })
	}
	group.Wait()
}

func (c cut) run(s *isles) {
	s.t.Helper()
	s.answers(islesAnswers[0])
	c.cut(s)
	s.first(false)
	writers := []string{"mon-1"}
	if c.stays {
		for n := range s.nodes {
			s.nodes[n].wait("it to judge", func() bool { return s.judged(n+1, "down") })
		}
		s.place(2, "standby", "mon-1")
		c.heal(s)
	} else {
		writers = append(writers, "mon-2")
		s.place(1, "none", "")
		s.place(2, "leader", "mon-2")
		s.answers(islesAnswers[1])
		c.heal(s)
		s.place(1, "standby", "mon-2")
	}
	s.answers(islesAnswers[1])
	s.first(true)
	s.answers(islesAnswers[0])
	if got := s.writers(); !slices.Equal(got, writers) {
		s.t.Errorf("the nodes that wrote, in order: %v, expected %v; the zone:\n%s", got, writers, strings.Join(s.cloud.history(), "\n"))
	}
}
