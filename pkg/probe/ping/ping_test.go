package ping

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// asked is a request that left over a fake wire.
type asked struct {
	to  netip.Addr
	at  time.Duration // since the wire was opened
	seq uint16
	raw []byte
}

// answer is the reply to it.
func (a asked) answer() message {
	m, _ := parseEcho(a.raw)
	m.reply, m.peer, m.local = true, a.to, netip.MustParseAddr("192.0.2.7")
	return m
}

// problem is an ICMP error that quotes it.
func (a asked) problem() message {
	m := a.answer()
	m.reply, m.kind, m.code, m.by = false, unreachable4, 1, netip.MustParseAddr("10.0.0.1")
	return m
}

// fake is a wire without a kernel: a function says what each request brings.
type fake struct {
	begin   time.Time
	respond func(f *fake, request asked) error

	mu     sync.Mutex
	sent   []asked
	late   []message // there, and not read in time
	in     chan message
	broken chan error
	closed chan struct{}
}

const fakeID = 4711

func newFake(respond func(*fake, asked) error) *fake {
	return &fake{begin: time.Now(), respond: respond, in: make(chan message, 100), broken: make(chan error, 1), closed: make(chan struct{})}
}

func (f *fake) id() uint16 { return fakeID }
func (f *fake) close()     { close(f.closed) }

func (f *fake) flush(take func(message)) {
	f.mu.Lock()
	late := f.late
	f.late = nil
	f.mu.Unlock()
	for _, m := range late {
		take(m)
	}
}

func (f *fake) send(packet []byte, to netip.Addr) error {
	m, ok := parseRequest(to.Is6(), to, packet)
	if !ok || m.cut || m.id != fakeID {
		return errors.New("a bad request was sent")
	}
	request := asked{to, time.Since(f.begin), m.seq, append([]byte(nil), packet...)}
	f.mu.Lock()
	f.sent = append(f.sent, request)
	f.mu.Unlock()
	return f.respond(f, request)
}

func (f *fake) receive(take func(message)) error {
	for {
		select {
		case m := <-f.in:
			take(m)
		case err := <-f.broken:
			return err
		case <-f.closed:
			return errors.New("closed")
		}
	}
}

var peer = netip.MustParseAddr("198.51.100.1")

// ask makes one Ask of 3 requests, 2 replies and 6 seconds in a bubble, where
// respond says what the world does.
func ask(t *testing.T, respond func(*fake, asked) error) (answer Answer, took time.Duration, f *fake, err error) {
	t.Helper()
	f = newFake(respond)
	p := &Pinger{open: func(place) (wire, error) { return f, nil }}
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	start := time.Now()
	answer, err = p.Ping(ctx, Ask{Peer: peer, Count: 3, Need: 2})
	took = time.Since(start)
	<-f.closed // by itself, soon after
	return answer, took, f, err
}

func answering(f *fake, request asked) error {
	f.in <- request.answer()
	return nil
}

func silent(*fake, asked) error { return nil }

// bubble runs a test in virtual time.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// TestWhenRequestsLeave holds the rule of the package comment: after a reply at
// once, else evenly over the timeout, and an end as soon as all is certain.
func TestWhenRequestsLeave(t *testing.T) {
	const reply, nothing, problem = "reply", "nothing", "problem"
	for _, c := range []struct {
		name     string
		world    []string // what the first, second and third request bring
		leave    []time.Duration
		took     time.Duration
		came     int
		refused  int
		reported bool
	}{
		{"all reply", []string{reply, reply, reply}, []time.Duration{0, 0}, 0, 2, 0, false},
		{"none replies", []string{nothing, nothing, nothing}, []time.Duration{0, 2 * time.Second, 4 * time.Second}, 6 * time.Second, 0, 0, false},
		{"the first is lost", []string{nothing, reply, reply}, []time.Duration{0, 2 * time.Second, 2 * time.Second}, 2 * time.Second, 2, 0, false},
		{"only the first replies", []string{reply, nothing, nothing}, []time.Duration{0, 0, 4 * time.Second}, 6 * time.Second, 1, 0, false},
		{"the second is lost", []string{reply, nothing, reply}, []time.Duration{0, 0, 4 * time.Second}, 4 * time.Second, 2, 0, false},
		{"errors for too many", []string{problem, problem, reply}, []time.Duration{0, 2 * time.Second}, 2 * time.Second, 0, 2, true},
		{"one error", []string{problem, reply, reply}, []time.Duration{0, 2 * time.Second, 2 * time.Second}, 2 * time.Second, 2, 1, true},
	} {
		bubble(t, c.name, func(t *testing.T) {
			answer, took, f, err := ask(t, func(f *fake, request asked) error {
				switch c.world[len(f.sent)-1] {
				case reply:
					f.in <- request.answer()
				case problem:
					f.in <- request.problem()
				}
				return nil
			})
			if err != nil || took != c.took || answer.Came != c.came || answer.Refused != c.refused || answer.Sent != len(c.leave) {
				t.Errorf("got %+v, %v after %v, want %d replies and %d errors after %v", answer, err, took, c.came, c.refused, c.took)
			}
			for i, request := range f.sent {
				if i < len(c.leave) && request.at != c.leave[i] {
					t.Errorf("request %d left at %v, want %v", i+1, request.at, c.leave[i])
				}
			}
			if (answer.Report == "host unreachable, says 10.0.0.1") != c.reported {
				t.Errorf("report %q", answer.Report)
			}
			if answer.Local.IsValid() != (c.came > 0) {
				t.Errorf("local address %v", answer.Local)
			}
		})
	}
}

// TestCase16ForeignRepliesAreIgnored answers a silent address with everything
// but its own replies.
//
// Input: replies to another pinger, with a wrong source, a wrong token, a wrong
// identifier, a wrong sequence number, late ones of an earlier probe, doubled
// ones. Only a reply that is right in all of it counts, and counts once.
func TestCase16ForeignRepliesAreIgnored(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*message)
	}{
		{"wrong source", func(m *message) { m.peer = m.peer.Next() }},
		{"wrong source of the other family", func(m *message) { m.peer = netip.MustParseAddr("2001:db8::1") }},
		{"wrong token", func(m *message) { m.token++ }},
		{"wrong identifier", func(m *message) { m.id++ }},
		{"wrong sequence", func(m *message) { m.seq++ }},
		{"error for another address", func(m *message) { m.reply, m.peer = false, m.peer.Next() }},
		{"error with a wrong token", func(m *message) { m.reply, m.token = false, m.token+1 }},
		{"error with a wrong identifier", func(m *message) { m.reply, m.cut, m.id = false, true, m.id+1 }},
	} {
		bubble(t, c.name, func(t *testing.T) {
			answer, took, _, err := ask(t, func(f *fake, request asked) error {
				m := request.answer()
				c.change(&m)
				f.in <- m
				f.in <- m
				return nil
			})
			if err != nil || answer.Came != 0 || answer.Refused != 0 || answer.Sent != 3 || took != 6*time.Second {
				t.Errorf("got %+v, %v after %v, want 3 requests and nothing that counts", answer, err, took)
			}
		})
	}
	bubble(t, "doubled", func(t *testing.T) {
		answer, took, _, err := ask(t, func(f *fake, request asked) error {
			if len(f.sent) == 1 {
				for range 5 {
					f.in <- request.answer()
				}
				f.in <- request.problem()
			}
			return nil
		})
		if err != nil || answer.Came != 1 || answer.Refused != 0 || took != 6*time.Second {
			t.Errorf("got %+v, %v after %v, want 1 reply", answer, err, took)
		}
	})
	bubble(t, "an error that quotes little", func(t *testing.T) {
		answer, _, _, err := ask(t, func(f *fake, request asked) error {
			m := request.problem()
			m.cut, m.token = true, 0
			f.in <- m
			return nil
		})
		if err != nil || answer.Refused != 2 {
			t.Errorf("got %+v, %v, want 2 errors that end it", answer, err)
		}
	})
}

// TestCase16LateRepliesOfAnEarlierProbe: the next probe of the same address is
// not answered by what the last one asked.
func TestCase16LateRepliesOfAnEarlierProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(silent)
		p := &Pinger{open: func(place) (wire, error) { return f, nil }}
		one := func(respond func(*fake, asked) error) Answer {
			f.respond = respond
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			answer, err := p.Ping(ctx, Ask{Peer: peer, Count: 1, Need: 1})
			if err != nil {
				t.Error(err)
			}
			return answer
		}
		if answer := one(silent); answer.Came != 0 {
			t.Errorf("got %+v, want silence", answer)
		}
		late := f.sent[0].answer()
		answer := one(func(f *fake, request asked) error {
			f.in <- late
			late.seq = request.seq // as after a whole round of sequence numbers
			f.in <- late
			return nil
		})
		if answer.Came != 0 {
			t.Errorf("a late reply counted: %+v", answer)
		}
		if answer := one(answering); answer.Came != 1 {
			t.Errorf("got %+v, want the reply", answer)
		}
		<-f.closed
	})
}

// TestNoSequenceNumberTwice keeps requests under way while the numbers go round
// more than once.
func TestNoSequenceNumberTwice(t *testing.T) {
	p := new(Pinger)
	l := &line{waiting: map[key]request{}, wire: newFake(silent), users: 1}
	held, other := p.flight(Ask{Peer: peer}), p.flight(Ask{Peer: peer})
	mine := map[uint16]bool{}
	for range 3000 {
		seq, _ := p.register(l, held)
		if mine[seq] {
			t.Fatalf("sequence number %d was given twice", seq)
		}
		mine[seq] = true
	}
	for range 1<<17 + 5 {
		seq, _ := p.register(l, other)
		if mine[seq] {
			t.Fatalf("sequence number %d is under way", seq)
		}
		p.unregister(l, other, seq, nil)
	}
	if other.answer.Sent != 0 || held.answer.Sent != 3000 {
		t.Errorf("sent %d and %d", other.answer.Sent, held.answer.Sent)
	}
	elsewhere := p.flight(Ask{Peer: peer.Next()})
	for range 1 << 16 { // another address has all numbers of its own
		p.register(l, elsewhere)
	}
	if len(l.waiting) != 3000+1<<16 {
		t.Errorf("%d requests are under way", len(l.waiting))
	}
	p.leave(l, elsewhere)
	p.leave(l, held)
	if len(l.waiting) != 0 {
		t.Errorf("%d requests are left", len(l.waiting))
	}
	l.idle.Stop()
}

// TestManyShareOneWire: half of 2,000 addresses reply, in disorder.
func TestManyShareOneWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		f := newFake(func(f *fake, request asked) error {
			if request.to.As4()[3]%2 == 0 {
				time.AfterFunc(time.Duration(request.seq%997)*time.Millisecond, func() { f.in <- request.answer() })
			}
			return nil
		})
		p := &Pinger{open: func(place) (wire, error) { opened++; return f, nil }}
		var all sync.WaitGroup
		for i := range 2000 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
				defer cancel()
				to := netip.AddrFrom4([4]byte{198, 18, byte(i / 250), byte(i % 250)})
				answer, err := p.Ping(ctx, Ask{Peer: to, Count: 3, Need: 2})
				want := 0
				if i%2 == 0 {
					want = 2
				}
				if err != nil || answer.Came != want {
					t.Errorf("%s: got %+v, %v, want %d replies", to, answer, err, want)
				}
			})
		}
		all.Wait()
		<-f.closed
		if opened != 1 || len(p.lines) != 0 {
			t.Errorf("opened %d wires, %d are left", opened, len(p.lines))
		}
	})
}

// TestOwnFaults are no word about the address.
func TestOwnFaults(t *testing.T) {
	bubble(t, "an error of sending", func(t *testing.T) {
		answer, took, _, err := ask(t, func(*fake, asked) error { return syscall.EPERM })
		var fault *Error
		if !errors.As(err, &fault) || fault.Op != "send" || !errors.Is(err, syscall.EPERM) || answer.Sent != 0 || took != 0 {
			t.Errorf("got %+v, %v after %v", answer, err, took)
		}
	})
	bubble(t, "no room for a while", func(t *testing.T) {
		tries := 0
		answer, took, _, err := ask(t, func(f *fake, request asked) error {
			if tries++; tries < 5 {
				return syscall.ENOBUFS
			}
			return answering(f, request)
		})
		if err != nil || answer.Came != 2 || answer.Sent != 2 || took != 4*retryAfter {
			t.Errorf("got %+v, %v after %v, want 2 replies after %v", answer, err, took, 4*retryAfter)
		}
	})
	bubble(t, "no room at all", func(t *testing.T) {
		answer, took, _, err := ask(t, func(*fake, asked) error { return syscall.EAGAIN })
		if err != nil || answer.Sent != 0 || !errors.Is(answer.Unsent, syscall.EAGAIN) || took != 6*time.Second {
			t.Errorf("got %+v, %v after %v, want nothing sent and why", answer, err, took)
		}
	})
	bubble(t, "a reader without a turn", func(t *testing.T) {
		answer, took, _, err := ask(t, func(f *fake, request asked) error {
			f.late = append(f.late, request.answer())
			return nil
		})
		if err != nil || answer.Came != 3 || took != 6*time.Second {
			t.Errorf("got %+v, %v after %v, want the 3 replies that were there", answer, err, took)
		}
	})
	bubble(t, "a broken socket", func(t *testing.T) {
		answer, took, _, err := ask(t, func(f *fake, _ asked) error {
			f.broken <- syscall.EBADF
			return nil
		})
		var fault *Error
		if !errors.As(err, &fault) || fault.Op != "receive" || took != 0 {
			t.Errorf("got %+v, %v after %v", answer, err, took)
		}
	})
	bubble(t, "stopped", func(t *testing.T) {
		f := newFake(silent)
		p := &Pinger{open: func(place) (wire, error) { return f, nil }}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		time.AfterFunc(time.Second, cancel)
		if _, err := p.Ping(ctx, Ask{Peer: peer, Count: 3, Need: 2}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		<-f.closed
	})
}

// TestALineIsKeptForAShortWhile: a pause below linger costs no new socket.
func TestALineIsKeptForAShortWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wires []*fake
		p := &Pinger{open: func(place) (wire, error) {
			wires = append(wires, newFake(answering))
			return wires[len(wires)-1], nil
		}}
		for _, pause := range []time.Duration{linger - 1, linger - 1, linger - 1, linger + 1} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if answer, err := p.Ping(ctx, Ask{Peer: peer, Count: 1, Need: 1}); err != nil || answer.Came != 1 {
				t.Errorf("got %+v, %v", answer, err)
			}
			cancel()
			if len(wires) != 1 {
				t.Errorf("opened %d wires, want 1", len(wires))
			}
			time.Sleep(pause)
		}
		if <-wires[0].closed; len(p.lines) != 0 {
			t.Error("the line is still there")
		}
	})
}
