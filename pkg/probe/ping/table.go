package ping

import (
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"
)

// Pinger sends echo requests. All that are under way in one family and from one
// source address share a socket. Its methods may be called from many goroutines
// at once. The zero value is ready.
type Pinger struct {
	open func(place) (wire, error) // nil opens sockets; tests put other wires here

	mu    sync.Mutex // guards the table, its lines, and the answers of flights
	lines map[place]*line

	ended sync.Pool // of *flight
}

// place tells sockets apart.
type place struct {
	v6     bool
	source netip.Addr // zero lets the kernel choose
}

// wire is a socket, or what stands for one in a test.
type wire interface {
	// id is the identifier that requests over this wire carry.
	id() uint16
	// send lets one packet out, or tells why it cannot. It never waits.
	send(packet []byte, to netip.Addr) error
	// receive hands over what comes in, and returns when the wire is closed or
	// broken.
	receive(take func(message)) error
	// flush hands over what is there already, and waits for nothing.
	flush(take func(message))
	close()
}

// line is a wire that is in use.
type line struct {
	place   place
	wire    wire
	users   int
	next    uint16
	waiting map[key]request
	broken  error       // why nothing comes in any more
	idle    *time.Timer // ends the line; nil until it was idle once
	since   time.Time   // when it became idle
}

// linger is how long an idle line is kept. Addresses on a fast network answer
// before the next is asked, and opening a socket costs as much as two requests.
const linger = 100 * time.Millisecond

// key finds the request that a message is about. One sequence number may be
// under way to several addresses, but never twice to one, so 65,536 requests at
// once are the limit of an address and not of the socket.
type key struct {
	peer [16]byte
	seq  uint16
}

// request is one that is under way.
type request struct {
	flight *flight
	token  uint64
}

// flight is one Ask under way. Its Answer is guarded by the Pinger, the rest
// belongs to the goroutine that asks.
type flight struct {
	ask    Ask
	answer Answer
	news   chan struct{} // the answer, or the line, changed
	timer  *time.Timer
	keys   []key // of the requests that left
	packet []byte

	cameBefore int       // replies that were there at the last request
	notBefore  time.Time // of the next request, after one that did not fit
}

// flight makes one, out of one that ended when there is any.
func (p *Pinger) flight(ask Ask) *flight {
	f, ok := p.ended.Get().(*flight)
	if !ok {
		f = &flight{news: make(chan struct{}, 1), timer: time.NewTimer(never), packet: make([]byte, 0, requestLen)}
	}
	f.ask, f.answer, f.keys = ask, Answer{}, f.keys[:0]
	f.cameBefore, f.notBefore = 0, time.Time{}
	return f
}

// free keeps a flight that nobody else knows any more for the next.
func (p *Pinger) free(f *flight) {
	f.timer.Stop()
	select {
	case <-f.news:
	default:
	}
	p.ended.Put(f)
}

// join finds the line for an Ask, or opens it.
func (p *Pinger) join(ask Ask) (*line, error) {
	at := place{v6: ask.Peer.Is6(), source: ask.Source}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.lines[at]; l != nil {
		l.users++
		return l, nil
	}
	open := p.open
	if open == nil {
		open = openSocket
	}
	w, err := open(at)
	if err != nil {
		return nil, err
	}
	l := &line{place: at, wire: w, users: 1, next: uint16(rand.Uint32()), waiting: map[key]request{}}
	if p.lines == nil {
		p.lines = map[place]*line{}
	}
	p.lines[at] = l
	// It ends when the line does, soon after the last flight.
	go func() { p.broke(l, w.receive(func(m message) { p.take(l, m) })) }()
	return l, nil
}

// leave takes a flight out of the table and gives its answer.
func (p *Pinger) leave(l *line, f *flight) Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range f.keys {
		if l.waiting[k].flight == f {
			delete(l.waiting, k)
		}
	}
	l.users--
	if l.users == 0 {
		l.since = time.Now()
		if l.idle == nil {
			l.idle = time.AfterFunc(linger, func() { p.end(l) })
		}
	}
	return f.answer
}

// end closes a line that was idle for long enough, and so ends its reader.
func (p *Pinger) end(l *line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rest := linger - time.Since(l.since)
	switch {
	case l.users > 0:
		l.idle = nil // the next that leaves starts it again
	case rest > 0:
		l.idle.Reset(rest)
	default:
		if p.lines[l.place] == l {
			delete(p.lines, l.place)
		}
		l.wire.close()
	}
}

// look reads what came so far.
func (p *Pinger) look(l *line, f *flight) (Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return f.answer, l.broken
}

// register makes room for the answer to one more request, before it leaves: on
// loopback the reply is there when send returns.
func (p *Pinger) register(l *line, f *flight) (seq uint16, token uint64) {
	token = rand.Uint64()
	p.mu.Lock()
	defer p.mu.Unlock()
	k := key{peer: f.ask.Peer.As16()}
	for range 1 << 16 {
		l.next++
		if k.seq = l.next; l.waiting[k].flight == nil {
			break
		}
	}
	l.waiting[k] = request{f, token}
	f.keys = append(f.keys, k)
	f.answer.Sent++
	return k.seq, token
}

// unregister takes a request back that did not leave.
func (p *Pinger) unregister(l *line, f *flight, seq uint16, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k := (key{f.ask.Peer.As16(), seq}); l.waiting[k].flight == f {
		delete(l.waiting, k)
	}
	f.answer.Sent--
	f.answer.Unsent = err
}

// take finds the request that a message is about, and counts it. What fits to
// none in every respect is somebody else's, late, doubled or forged.
func (p *Pinger) take(l *line, m message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := key{m.peer.As16(), m.seq}
	r := l.waiting[k]
	if r.flight == nil || m.id != l.wire.id() || (!m.cut && m.token != r.token) {
		return
	}
	delete(l.waiting, k)
	answer := &r.flight.answer
	if m.reply {
		answer.Came++
		answer.Local = m.local
	} else {
		answer.Refused++
		answer.Report = m.words()
	}
	r.flight.tell()
}

// broke ends a line: new flights open another, those under way are told.
func (p *Pinger) broke(l *line, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.broken = &Error{"receive", err}
	if p.lines[l.place] == l {
		delete(p.lines, l.place)
	}
	for _, r := range l.waiting {
		r.flight.tell()
	}
}

// tell leaves word; word that is there already is word enough.
func (f *flight) tell() {
	select {
	case f.news <- struct{}{}:
	default:
	}
}
