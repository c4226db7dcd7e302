package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sidestep/pkg/lab"
	"sidestep/providers/rfc2136/rfc2136test"
)

// killer is a proxy before the name server. It passes DNS messages over TCP one
// by one, counts the requests, and kills a process at one of them.
type killer struct {
	listener net.Listener
	server   string
	group    sync.WaitGroup

	mu       sync.Mutex
	requests int
	at       int  // the request at which the process is killed, from 1; 0 never
	after    bool // the request reaches the server, and its reply does not come back
	kill     func()
	delay    time.Duration // before each message is passed on
}

// slow makes every message wait before it is passed on.
func (k *killer) slow(delay time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.delay = delay
}

func (k *killer) wait() {
	k.mu.Lock()
	delay := k.delay
	k.mu.Unlock()
	time.Sleep(delay)
}

func startKiller(t *testing.T, server string) *killer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &killer{listener: listener, server: server}
	k.group.Go(k.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		k.group.Wait()
	})
	return k
}

// arm says at which request the process is killed, and begins to count anew.
func (k *killer) arm(at int, after bool, kill func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.requests, k.at, k.after, k.kill = 0, at, after, kill
}

func (k *killer) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.requests
}

func (k *killer) accept() {
	for {
		client, err := k.listener.Accept()
		if err != nil {
			return
		}
		k.group.Go(func() { k.serve(client) })
	}
}

func (k *killer) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	upstream, err := net.Dial("tcp", k.server)
	if err != nil {
		return
	}
	defer func() { _ = upstream.Close() }()
	k.group.Go(func() { k.answers(client, upstream) })
	for {
		message, err := readMessage(client)
		if err != nil {
			return
		}
		if k.strikes(false) {
			return
		}
		k.wait()
		if _, err := upstream.Write(message); err != nil {
			return
		}
	}
}

// answers carries the replies back. The process that is killed after a request
// never gets the reply to it.
func (k *killer) answers(client, upstream net.Conn) {
	for {
		message, err := readMessage(upstream)
		if err != nil {
			_ = client.Close()
			return
		}
		if k.strikes(true) {
			_ = client.Close()
			return
		}
		if _, err := client.Write(message); err != nil {
			return
		}
	}
}

// strikes counts a request, or looks at a reply, and kills when it is time.
func (k *killer) strikes(reply bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !reply {
		k.requests++
	}
	if k.at == 0 || k.requests != k.at || reply != k.after {
		return false
	}
	k.at = 0
	k.kill()
	return true
}

// readMessage reads one message with its length before it (RFC 1035 section
// 4.2.2).
func readMessage(r io.Reader) ([]byte, error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	message := make([]byte, 2+int(binary.BigEndian.Uint16(head)))
	copy(message, head)
	_, err := io.ReadFull(r, message[2:])
	return message, err
}

// TestKilledAtEveryMessage kills the built binary, by its process id, before
// and after every message of a failover, and starts it again: with the state
// that the killed one left, and with none. Nothing is lost, nothing is doubled,
// the name is never empty, and the zone comes to the wanted state.
func TestKilledAtEveryMessage(t *testing.T) {
	t.Parallel()
	total := messagesOfFailover(t)
	t.Logf("a failover takes %d messages to the name server", total)
	var kills atomic.Int64
	t.Run("kill", func(t *testing.T) {
		for n := 1; n <= total; n++ {
			for _, after := range []bool{false, true} {
				for _, forget := range []bool{false, true} {
					when := map[bool]string{false: "before", true: "after"}[after]
					t.Run(fmt.Sprintf("%s message %d, state lost %v", when, n, forget), func(t *testing.T) {
						t.Parallel()
						if killOnce(t, n, after, forget) {
							kills.Add(1)
						}
					})
				}
			}
		}
	})
	t.Logf("killed %d times at %d messages", kills.Load(), total)
	if kills.Load() < int64(2*total) {
		t.Errorf("only %d kills took place at %d messages", kills.Load(), total)
	}
}

// killWorld is a world behind a killer, fast, with the first backend dead.
func killWorld(t *testing.T) (*world, *killer) {
	t.Helper()
	w := newWorld(t, rfc2136test.StartBIND)
	k := startKiller(t, w.server.Addr)
	w.upstream = k.listener.Addr().String()
	w.interval, w.fall, w.debounce = 300*time.Millisecond, 2, 50*time.Millisecond
	w.write()
	if err := w.backends[0].Break(lab.Refuse); err != nil {
		t.Fatal(err)
	}
	return w, k
}

func messagesOfFailover(t *testing.T) int {
	t.Helper()
	w, k := killWorld(t)
	k.arm(0, false, nil)
	p := w.run()
	w.waitLive(ip(w.backends[1]))
	w.wait("the write to be verified", func() bool { return strings.Contains(p.log.String(), `"verified"`) })
	defer p.kill()
	return k.count()
}

// killOnce plays one failover with one kill, and reports whether it took place.
func killOnce(t *testing.T, n int, after, forget bool) bool {
	t.Helper()
	w, k := killWorld(t)
	samples := w.sample()
	a, b := ip(w.backends[0]), ip(w.backends[1])
	var killed atomic.Bool
	var p *process
	started := make(chan struct{})
	k.arm(n, after, func() {
		<-started
		killed.Store(true)
		_ = p.cmd.Process.Kill()
	})
	p = w.run()
	close(started)
	w.wait("sidestep to be killed, or done", func() bool {
		select {
		case <-p.done:
			return true
		default:
			return strings.Contains(p.log.String(), `"verified"`)
		}
	})
	p.kill()
	k.arm(0, false, nil)
	if forget {
		if err := os.RemoveAll(w.state()); err != nil {
			t.Fatal(err)
		}
	}
	second := w.run()
	w.waitLive(b)
	w.wait("one parked copy", func() bool {
		return slices.Equal(w.parked(), []string{"v=sidestep1 type=A value=" + a + " ttl=60"})
	})
	if err := w.backends[0].Mend(); err != nil {
		t.Fatal(err)
	}
	w.waitLive(a, b)
	w.wait("no copy to be left", func() bool { return len(w.parked()) == 0 })
	want := []string{"www.example.com. 60 IN A " + a, "www.example.com. 60 IN A " + b}
	if got := w.records("www.example.com.", "A"); !slices.Equal(got, want) {
		t.Errorf("the zone has %q, want %q", got, want)
	}
	if stamps := w.ask("_sidestep.example.com.", "TXT"); len(stamps) != 1 {
		t.Errorf("the zone has the stamps %q, want one", stamps)
	}
	w.othersUntouched()
	samples.stop()
	second.kill()
	w.server.Stop()
	return killed.Load()
}
