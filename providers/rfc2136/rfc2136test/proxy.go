package rfc2136test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// Fault is what a Proxy does to one request.
type Fault int

// The faults. Each hits the next request of its kind and no other.
const (
	CutTransfer   Fault = iota + 1 // the connection ends in the middle of a transfer's first message
	CutBetween                     // the connection ends after a transfer's first message
	EmptyTransfer                  // the transfer has the SOA twice and nothing else, well signed
	HangTransfer                   // the transfer's request is read, nothing follows
	HangUpdate                     // the update is read, does not reach the server, and nothing follows
	LostRequest                    // the update does not reach the server, the connection ends
	LostReply                      // the update reaches the server, its reply is dropped, the connection ends
	ForgedReply                    // the update reaches the server, its reply comes with a bit flipped in the signature
)

func (f Fault) update() bool { return f >= HangUpdate }

// Proxy stands between an adapter and a server, passes whole messages over TCP,
// and spoils those it is told to.
type Proxy struct {
	Addr string

	t        testing.TB
	server   *Server
	listener net.Listener
	ctx      context.Context //nolint:containedctx // ends with the test
	group    sync.WaitGroup

	mu        sync.Mutex
	faults    []Fault
	updates   int
	transfers int
	open      int
}

// StartProxy listens on a free port until the test ends.
func StartProxy(t testing.TB, server *Server) *Proxy {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	p := &Proxy{Addr: listener.Addr().String(), t: t, server: server, listener: listener, ctx: ctx}
	p.group.Go(p.accept)
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		p.group.Wait()
	})
	return p
}

// Fault arms one fault.
func (p *Proxy) Fault(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, f)
}

// Updates is how many updates came, whatever became of them.
func (p *Proxy) Updates() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.updates
}

// Open is how many connections clients hold open.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

func (p *Proxy) count(change int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open += change
}

// Transfers is how many transfers were asked for.
func (p *Proxy) Transfers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.transfers
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.group.Go(func() { p.serve(client) })
	}
}

// serve passes one request and its replies; the adapter makes one a connection.
func (p *Proxy) serve(client net.Conn) {
	p.count(1)
	defer p.count(-1)
	stop := context.AfterFunc(p.ctx, func() { _ = client.Close() })
	defer stop()
	defer func() { _ = client.Close() }()
	frame, err := readFrame(client)
	if err != nil {
		return
	}
	switch fault := p.take(frame); fault {
	case HangTransfer, HangUpdate:
		_, _ = io.Copy(io.Discard, client)
	case LostRequest:
	case EmptyTransfer:
		p.answerEmpty(client, frame)
	default:
		p.pass(client, frame, fault)
	}
}

// take counts a request and finds the fault that is armed for it.
func (p *Proxy) take(frame []byte) Fault {
	update, transfer := kindOf(frame)
	p.mu.Lock()
	defer p.mu.Unlock()
	if update {
		p.updates++
	}
	if transfer {
		p.transfers++
	}
	for i, f := range p.faults {
		if f.update() && update || !f.update() && transfer {
			p.faults = append(p.faults[:i:i], p.faults[i+1:]...)
			return f
		}
	}
	return 0
}

func kindOf(frame []byte) (update, transfer bool) {
	m := new(dns.Msg)
	if err := m.Unpack(frame[2:]); err != nil || len(m.Question) != 1 {
		return false, false
	}
	return m.Opcode == dns.OpcodeUpdate, m.Opcode == dns.OpcodeQuery && m.Question[0].Qtype == dns.TypeAXFR
}

func (p *Proxy) pass(client net.Conn, frame []byte, fault Fault) {
	server, err := new(net.Dialer).DialContext(p.ctx, "tcp", p.server.Addr)
	if err != nil {
		return
	}
	stop := context.AfterFunc(p.ctx, func() { _ = server.Close() })
	defer stop()
	defer func() { _ = server.Close() }()
	if _, err := server.Write(frame); err != nil {
		return
	}
	reply, err := readFrame(server)
	if err != nil {
		return
	}
	switch fault {
	case LostReply:
		return
	case CutTransfer:
		reply = reply[:len(reply)/2]
	case ForgedReply:
		reply[len(reply)-10] ^= 1 // inside the MAC: six octets and a half follow it
	}
	if _, err := client.Write(reply); err != nil || fault == CutTransfer || fault == CutBetween {
		return
	}
	p.group.Go(func() { // ends when the client goes, and takes the copy below along
		_, _ = io.Copy(io.Discard, client)
		_ = server.SetReadDeadline(time.Now())
	})
	_, _ = io.Copy(client, server)
}

// answerEmpty answers a transfer as a server does that has lost its zone's
// content.
func (p *Proxy) answerEmpty(client net.Conn, frame []byte) {
	request := new(dns.Msg)
	if err := request.Unpack(frame[2:]); err != nil {
		p.t.Errorf("proxy: read the transfer's request: %v", err)
		return
	}
	soa, err := dns.NewRR(p.server.Zone + " 300 IN SOA ns.example.net. admin.example.net. 1 3600 600 86400 60")
	if err != nil {
		p.t.Errorf("proxy: %v", err)
		return
	}
	reply := new(dns.Msg)
	reply.SetReply(request)
	reply.Answer = []dns.RR{soa, soa}
	wire, err := p.sign(request, reply)
	if err != nil {
		p.t.Errorf("proxy: sign: %v", err)
		return
	}
	_, _ = client.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(wire))), wire...))
}

func (p *Proxy) sign(request, reply *dns.Msg) ([]byte, error) {
	sig := request.IsTsig()
	if sig == nil {
		return reply.Pack()
	}
	if sig.Hdr.Name != p.server.Key.Name {
		return nil, errors.New("the request has another key than the server")
	}
	reply.SetTsig(sig.Hdr.Name, sig.Algorithm, sig.Fudge, time.Now().Unix())
	wire, _, err := dns.TsigGenerate(reply, p.server.Key.Secret, sig.MAC, false)
	return wire, err
}

// readFrame reads one message with its length before it.
func readFrame(conn net.Conn) ([]byte, error) {
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, 2+int(binary.BigEndian.Uint16(length[:])))
	copy(frame, length[:])
	_, err := io.ReadFull(conn, frame[2:])
	return frame, err
}
