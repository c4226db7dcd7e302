package resolvetest

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
)

// Fault is a way in which a resolver fails.
type Fault string

// The faults.
const (
	Healthy  Fault = ""
	ServFail Fault = "servfail"
	Refused  Fault = "refused"
	Silent   Fault = "silent"   // takes questions and answers nothing
	Cut      Fault = "cut"      // truncates over UDP, answers over TCP
	Lame     Fault = "lame"     // an empty answer without recursion
	Forged   Fault = "forged"   // sends two wrong answers before the right one: to another id, and to another question
	Garbage  Fault = "garbage"  // sends bytes that are no message before the right answer
	Circle   Fault = "circle"   // answers with two CNAMEs that point at each other
	Endless  Fault = "endless"  // answers with a chain of 40 CNAMEs
	Dangling Fault = "dangling" // gives an alias alone, and does not follow it
	NotThere Fault = "nxdomain" // says of every name that it does not exist
)

// Server is a resolver. Its methods may be called while it serves.
type Server struct {
	Addr netip.AddrPort // the same port for UDP and TCP

	mu      sync.Mutex
	records []dns.RR
	faults  map[uint16]Fault // by type, 0 for all types
	asked   []string
}

// Start serves records, one a line as in a zone file, on a free port of
// 127.0.0.1 until the test ends.
func Start(tb testing.TB, records ...string) *Server {
	tb.Helper()
	return StartAt(tb, "127.0.0.1:0", records...)
}

// StartAt is Start on an address of the test's choice.
func StartAt(tb testing.TB, address string, records ...string) *Server {
	tb.Helper()
	s := &Server{faults: map[uint16]Fault{}}
	s.Serve(tb, records...)
	packets, listener := listen(tb, address)
	s.Addr = netip.MustParseAddrPort(packets.LocalAddr().String())
	var served sync.WaitGroup
	tb.Cleanup(served.Wait)
	for _, server := range []*dns.Server{
		{PacketConn: packets, Handler: dns.HandlerFunc(s.answer)},
		{Listener: listener, Handler: dns.HandlerFunc(s.answer)},
	} {
		started := make(chan struct{})
		server.NotifyStartedFunc = func() { close(started) }
		served.Go(func() {
			if err := server.ActivateAndServe(); err != nil {
				tb.Errorf("resolver: %v", err)
			}
		})
		<-started
		tb.Cleanup(func() { _ = server.Shutdown() }) // it serves, so there is no error
	}
	return s
}

// listen finds a port that is free for UDP and TCP.
func listen(tb testing.TB, address string) (net.PacketConn, net.Listener) {
	tb.Helper()
	var failed error
	for range 20 {
		packets, err := net.ListenPacket("udp", address)
		if err != nil {
			tb.Fatalf("resolver: %v", err)
		}
		listener, err := net.Listen("tcp", packets.LocalAddr().String())
		if err == nil {
			return packets, listener
		}
		failed = err
		_ = packets.Close()
	}
	tb.Fatalf("resolver: no port is free for UDP and TCP: %v", failed)
	return nil, nil
}

// Serve replaces the records.
func (s *Server) Serve(tb testing.TB, records ...string) {
	tb.Helper()
	var parsed []dns.RR
	for _, text := range records {
		rr, err := dns.NewRR(text)
		if err != nil || rr == nil {
			tb.Fatalf("record %q: %v", text, err)
		}
		parsed = append(parsed, rr)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = parsed
}

// Fail makes answers to every type fail, or heals them; Fail(Healthy) also
// heals what FailType broke.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = map[uint16]Fault{0: f}
}

// FailType makes answers to one type fail.
func (s *Server) FailType(kind uint16, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[kind] = f
}

// Asked lists the questions so far, as "www.example.net. A".
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *Server) answer(w dns.ResponseWriter, question *dns.Msg) {
	s.mu.Lock()
	q := question.Question[0]
	s.asked = append(s.asked, q.Name+" "+dns.TypeToString[q.Qtype])
	fault := s.faults[q.Qtype]
	if fault == Healthy {
		fault = s.faults[0]
	}
	reply := s.look(question)
	s.mu.Unlock()
	_, overTCP := w.RemoteAddr().(*net.TCPAddr)
	if spoil(fault, overTCP, w, reply) {
		_ = w.WriteMsg(reply) // whoever asked has gone
	}
}

// spoil applies a fault; false when nothing is to be answered any more.
func spoil(fault Fault, overTCP bool, w dns.ResponseWriter, reply *dns.Msg) bool {
	q := reply.Question[0]
	switch fault {
	case Silent:
		return false
	case ServFail:
		reply.Rcode, reply.Answer = dns.RcodeServerFailure, nil
	case Refused:
		reply.Rcode, reply.Answer = dns.RcodeRefused, nil
	case NotThere:
		reply.Rcode, reply.Answer = dns.RcodeNameError, nil
	case Dangling:
		reply.Answer, reply.Ns = reply.Answer[:min(1, len(reply.Answer))], nil
	case Lame:
		reply.RecursionAvailable, reply.Rcode, reply.Answer = false, dns.RcodeSuccess, nil
	case Cut:
		if !overTCP {
			reply.Truncated, reply.Answer = true, nil
		}
	case Circle:
		reply.Answer = []dns.RR{alias(q.Name, "round."+q.Name), alias("round."+q.Name, q.Name)}
	case Endless:
		reply.Answer = nil
		for owner, i := q.Name, 0; i < 40; i++ {
			next := fmt.Sprintf("n%d.example.", i)
			reply.Answer = append(reply.Answer, alias(owner, next))
			owner = next
		}
	case Forged:
		forge(w, reply)
	case Garbage:
		_, _ = w.Write([]byte("no message at all"))
	}
	return true
}

func alias(owner, target string) dns.RR {
	return &dns.CNAME{Hdr: dns.RR_Header{Name: owner, Rrtype: dns.TypeCNAME, Class: dns.ClassINET, Ttl: 60}, Target: target}
}

// forge sends what somebody would who wants to be believed: an address of his
// own, first under a guessed id, then for another question.
func forge(w dns.ResponseWriter, reply *dns.Msg) {
	own := &dns.A{Hdr: dns.RR_Header{Name: reply.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60}, A: net.IPv4(127, 6, 6, 6)}
	wrongID := reply.Copy()
	wrongID.Id, wrongID.Answer = reply.Id+1, []dns.RR{own}
	_ = w.WriteMsg(wrongID)
	other := reply.Copy()
	other.Question[0].Name, other.Answer = "other.example.", []dns.RR{own}
	_ = w.WriteMsg(other)
}

// look answers from the records as a resolver does: along the CNAMEs.
func (s *Server) look(question *dns.Msg) *dns.Msg {
	reply := new(dns.Msg).SetReply(question)
	reply.RecursionAvailable = true
	q := question.Question[0]
	for name, hops := q.Name, 0; hops < 10; hops++ {
		known := false
		next := ""
		for _, rr := range s.records {
			if !strings.EqualFold(rr.Header().Name, name) {
				continue
			}
			known = true
			if target, ok := rr.(*dns.CNAME); ok && q.Qtype != dns.TypeCNAME {
				reply.Answer, next = append(reply.Answer, rr), target.Target
			} else if rr.Header().Rrtype == q.Qtype {
				reply.Answer = append(reply.Answer, rr)
			}
		}
		if !known {
			reply.Rcode = dns.RcodeNameError
		}
		if next == "" {
			break
		}
		name = next
	}
	if n := len(reply.Answer); n == 0 || reply.Answer[n-1].Header().Rrtype != q.Qtype {
		reply.Ns = []dns.RR{noSuch()}
	}
	return reply
}

// noSuch is the SOA that comes with a no (RFC 2308 section 2).
func noSuch() dns.RR {
	return &dns.SOA{
		Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeSOA, Class: dns.ClassINET, Ttl: 60},
		Ns:  "ns.invalid.", Mbox: "hostmaster.invalid.", Serial: 1, Refresh: 60, Retry: 60, Expire: 60, Minttl: 60,
	}
}
