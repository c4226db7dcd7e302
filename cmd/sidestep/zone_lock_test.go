package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sidestep/pkg/control"
	"sidestep/pkg/lab"
	"sidestep/pkg/provider/httpapi/httpfake"
)

// zoneLock is two built binaries, each on its own way to one zone at Cloudflare,
// whose stamp is the lock between them. The times are those of the defaults, from
// half a minute scaled to a second.
type zoneLock struct {
	*testing.T

	cloud    *cloud
	backends []*lab.Backend
	nodes    []*zoneNode
}

type zoneNode struct {
	outsider

	name  string
	front *front // its own way to the provider
}

const zoneLockTimes = "leader: {lock: zone, heartbeat: 2s, takeover: 10s, poll: 1s}\n"

func newZoneLock(t *testing.T) *zoneLock {
	t.Helper()
	l := &zoneLock{T: t, cloud: startCloudflare(t, walkAnswers[0])}
	l.cloud.answers = walkAnswers
	servers := &world{t: t}
	servers.startBackends(2)
	l.backends = servers.backends
	for _, name := range []string{"mon-1", "mon-2"} {
		n := &zoneNode{name: name, front: startFront(t, l.cloud)}
		n.world = &world{t: t, dir: shortDir(t), env: l.cloud.environ()}
		n.config = filepath.Join(n.dir, "sidestep.yaml")
		_, port, err := net.SplitHostPort(l.backends[0].Addr())
		l.must(err)
		text := strings.Replace(l.cloud.configFor(n.dir, outsidePace, port, n.front), "node: {name: walker}\n", "node: {name: "+name+"}\n"+zoneLockTimes, 1)
		l.must(os.WriteFile(n.config, []byte(text), 0o600))
		l.nodes = append(l.nodes, n)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("history:\n%s", strings.Join(l.cloud.history(), "\n"))
		}
	})
	return l
}

func (l *zoneLock) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (n *zoneNode) start() { n.process = n.run("--log-level", "debug") }

// says waits until the node says of itself that it leads or stands by, and who does.
func (n *zoneNode) says(state, holder string) {
	n.t.Helper()
	var last *control.Status
	defer func() {
		if n.t.Failed() && last != nil {
			n.t.Logf("%s says %+v", n.name, last.Leader)
		}
	}()
	n.wait(fmt.Sprintf("%s to be %s by %s", n.name, state, holder), func() bool {
		if s := n.status(); s != nil {
			last = s
			return s.Leader.State == state && s.Leader.Holder == holder
		}
		return false
	})
}

// answers waits until the zone answers with one value.
func (l *zoneLock) answers(value string) {
	l.Helper()
	l.nodes[0].wait("the zone to answer with "+value, func() bool { return l.cloud.live() == value })
}

// effects sees that each change of the zone which an API call made carried on from a
// stamp of the node that sent it, and tells how many there were.
func (l *zoneLock) effects() (changes, turns int) {
	l.Helper()
	holder := ""
	for _, tx := range transactions(l.cloud.history()) {
		gone, came := holderIn(tx, "api delete "), holderIn(tx, "api post ")
		if came == "" || came == "-" {
			continue // by hand, or the text that the first claim begins with
		}
		answers := strings.Contains(strings.Join(tx, "\n"), "www.example.com A")
		if answers && gone != came {
			l.Errorf("written by %s through the stamp of %q:\n%s", came, gone, strings.Join(tx, "\n"))
		}
		if answers {
			changes++
		}
		if came != holder {
			turns++
		}
		holder = came
	}
	return changes, turns
}

// TestZoneLock lets the leader of two nodes be killed, stopped for a while, and cut
// off from the provider and from nothing else; each time the first server comes back
// meanwhile. The other node takes over and brings it back, the name is never empty,
// and whoever led before stands by when it is back.
func TestZoneLock(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]struct{ strike, mend func(*zoneNode) }{
		"kill -9": {func(n *zoneNode) { n.kill() }, func(n *zoneNode) { n.start() }},
		"SIGSTOP and SIGCONT": {
			func(n *zoneNode) { _ = n.cmd.Process.Signal(syscall.SIGSTOP) },
			func(n *zoneNode) { _ = n.cmd.Process.Signal(syscall.SIGCONT) },
		},
		"cut off": {
			func(n *zoneNode) { n.front.down.Store(&httpfake.Fault{Drop: true}) },
			func(n *zoneNode) { n.front.down.Store(nil) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newZoneLock(t)
			first, second := l.nodes[0], l.nodes[1]
			first.start()
			first.says("leader", "mon-1")
			second.start()
			second.says("standby", "mon-1")
			for _, args := range [][]string{
				{"drain", walkAnswers[0], "--for", "1h", "--reason", "new kernel"},
				{"undrain", walkAnswers[0]},
				{"freeze", "--for", "1h", "--reason", "audit"},
				{"unfreeze"},
			} {
				second.world.says(4, "this word is kept at this node only, and changes nothing in zone example.com. as long as mon-1 leads it: say it there", args...)
			}
			second.world.says(4, "noted: www.example.com; at this node only, where nothing waits, and mon-1 leads: say it there", "approve", "www.example.com")
			l.must(l.backends[0].Break(lab.Refuse))
			l.answers(walkAnswers[1])
			fault.strike(first)
			l.must(l.backends[0].Mend())
			second.says("leader", "mon-2")
			l.answers(walkAnswers[0])
			fault.mend(first)
			first.says("standby", "mon-2")
			if code := second.stop(t); code != 0 {
				t.Errorf("the second ended with %d", code)
			}
			first.says("leader", "mon-1") // at its next look
			if code := first.stop(t); code != 0 {
				t.Errorf("the first ended with %d", code)
			}
			changes, turns := l.effects()
			t.Logf("%d changes of answers, %d turns of the leader, %d records of history", changes, turns, len(l.cloud.history()))
			if changes < 4 || turns < 3 {
				t.Errorf("expected two switches at least, and three leaders one after the other")
			}
		})
	}
}

// transactions are the lines of a history, those of one number together.
func transactions(history []string) (list [][]string) {
	last := ""
	for _, line := range history {
		number, rest, _ := strings.Cut(line, " ")
		if number != last {
			list, last = append(list, nil), number
		}
		list[len(list)-1] = append(list[len(list)-1], rest)
	}
	return list
}

// holderIn is whose stamp a transaction removed or made; empty for none.
func holderIn(tx []string, what string) string {
	for _, line := range tx {
		if _, after, found := strings.Cut(line, "holder="); found && strings.HasPrefix(line, what) {
			holder, _, _ := strings.Cut(after, " ")
			return holder
		}
	}
	return ""
}
