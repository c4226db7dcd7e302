package observe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/miekg/dns"
	"go.uber.org/goleak"

	"sidestep/pkg/authority/authoritytest"
	"sidestep/pkg/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const zoneText = `
@       3600 IN SOA ns hostmaster 7 3600 600 86400 60
@       3600 IN NS  ns
www     300  IN A   192.0.2.10
www     300  IN A   192.0.2.9
www     300  IN AAAA 2001:DB8:0::1
alias   30   IN CNAME WWW
hop     90   IN CNAME alias
far     45   IN CNAME www.Example.NET.
gone    20   IN CNAME nothing
txt     60   IN TXT "v=sidestep1 " "a\"b\\c" "\195\164\000"
mx      60   IN MX  10 Mail
empty.x 60   IN A   192.0.2.1
sub     60   IN NS  ns.sub
ns.sub  60   IN A   192.0.2.2
`

// serve runs the embedded name server on loopback until the test ends.
func serve(t *testing.T, text string) string {
	t.Helper()
	return authoritytest.Start(t, "example.com.", text).Addr()
}

func TestAsk(t *testing.T) {
	server := serve(t, zoneText)
	for _, c := range []struct {
		name record.Name
		kind record.Type
		want Answer
	}{
		{"www.example.com.", record.A, Answer{Values: []string{"192.0.2.10", "192.0.2.9"}, TTL: 300 * time.Second, Authoritative: true}},
		{"www.example.com.", record.AAAA, Answer{Values: []string{"2001:db8::1"}, TTL: 300 * time.Second, Authoritative: true}},
		{"www.example.com.", record.TXT, Answer{Negative: NoData, TTL: 60 * time.Second, Authoritative: true}},
		{"x.example.com.", record.A, Answer{Negative: NoData, TTL: 60 * time.Second, Authoritative: true}},
		{"nothing.example.com.", record.A, Answer{Rcode: "NXDOMAIN", Negative: NXDomain, TTL: 60 * time.Second, Authoritative: true}},
		{"alias.example.com.", record.CNAME, Answer{Values: []string{"www.example.com."}, TTL: 30 * time.Second, Authoritative: true}},
		{"alias.example.com.", record.AAAA, Answer{Values: []string{"2001:db8::1"}, Aliases: []record.Name{"www.example.com."}, TTL: 30 * time.Second, Authoritative: true}},
		{"hop.example.com.", record.AAAA, Answer{Values: []string{"2001:db8::1"}, Aliases: []record.Name{"alias.example.com.", "www.example.com."}, TTL: 30 * time.Second, Authoritative: true}},
		{"hop.example.com.", record.TXT, Answer{Negative: NoData, Aliases: []record.Name{"alias.example.com.", "www.example.com."}, TTL: 30 * time.Second, Authoritative: true}},
		{"far.example.com.", record.A, Answer{Aliases: []record.Name{"www.example.net."}, TTL: 45 * time.Second, Authoritative: true}},
		{"gone.example.com.", record.A, Answer{Rcode: "NXDOMAIN", Negative: NXDomain, Aliases: []record.Name{"nothing.example.com."}, TTL: 20 * time.Second, Authoritative: true}},
		{"txt.example.com.", record.TXT, Answer{Values: []string{"v=sidestep1 a\"b\\cä\x00"}, TTL: 60 * time.Second, Authoritative: true}},
		{"mx.example.com.", "MX", Answer{Values: []string{"10 Mail.example.com."}, TTL: 60 * time.Second, Authoritative: true}},
		{"a.sub.example.com.", record.A, Answer{}},
		{"www.example.net.", record.A, Answer{Rcode: "REFUSED"}},
	} {
		t.Run(string(c.name)+string(c.kind), func(t *testing.T) {
			got, err := Ask(t.Context(), server, c.name, c.kind)
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			want.Name, want.Type, want.Server, want.Transport = c.name, c.kind, server, "udp"
			if want.Rcode == "" {
				want.Rcode = "NOERROR"
			}
			if want.Negative == "" {
				want.Negative = None
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Answer{}, "RTT")); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if got.RTT <= 0 {
				t.Errorf("RTT %s", got.RTT)
			}
		})
	}
}

func TestAskTurnsToTCPWhenTruncated(t *testing.T) {
	text := "@ 3600 IN SOA ns h 1 1 1 1 60\n@ 60 IN NS ns\n$GENERATE 1-200 many 60 IN A 192.0.2.$\n"
	a, err := Ask(t.Context(), serve(t, text), "many.example.com.", record.A)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Values) != 200 || a.Transport != "tcp" {
		t.Errorf("%d values over %s, want 200 over tcp", len(a.Values), a.Transport)
	}
}

// fake answers UDP packets with what a function returns for each, and TCP, when
// it is wanted, with the address 192.0.2.77.
func fake(t *testing.T, tcp bool, answers func(question *dns.Msg, packet int) []*dns.Msg) string {
	t.Helper()
	listener, packets := listenBoth(t)
	done := make(chan struct{}, 2)
	go func() {
		defer func() { done <- struct{}{} }()
		answerPackets(packets, answers)
	}()
	go func() {
		defer func() { done <- struct{}{} }()
		answerConnections(listener, tcp)
	}()
	t.Cleanup(func() {
		packets.Close()
		listener.Close()
		<-done
		<-done
	})
	return listener.Addr().String()
}

// listenBoth finds a port that is free for TCP and UDP.
func listenBoth(t *testing.T) (net.Listener, net.PacketConn) {
	t.Helper()
	for range 50 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		packets, err := net.ListenPacket("udp", listener.Addr().String())
		if err == nil {
			return listener, packets
		}
		listener.Close()
	}
	t.Fatal("no port is free for TCP and UDP")
	return nil, nil
}

func answerPackets(packets net.PacketConn, answers func(*dns.Msg, int) []*dns.Msg) {
	buf := make([]byte, 4096)
	for i := 0; ; i++ {
		n, from, err := packets.ReadFrom(buf)
		if err != nil {
			return
		}
		question := new(dns.Msg)
		if question.Unpack(buf[:n]) != nil {
			continue
		}
		for _, m := range answers(question, i) {
			if wire, err := m.Pack(); err == nil {
				packets.WriteTo(wire, from)
			}
		}
	}
}

// answerConnections closes each connection, after an answer if it is to give one.
func answerConnections(listener net.Listener, answer bool) {
	for {
		raw, err := listener.Accept()
		if err != nil {
			return
		}
		conn := &dns.Conn{Conn: raw}
		if question, err := conn.ReadMsg(); err == nil && answer {
			conn.WriteMsg(with(question, "192.0.2.77"))
		}
		conn.Close()
	}
}

func with(question *dns.Msg, address string) *dns.Msg {
	m := new(dns.Msg).SetReply(question)
	m.Authoritative = true
	m.Answer = []dns.RR{&dns.A{
		Hdr: dns.RR_Header{Name: question.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60},
		A:   net.ParseIP(address),
	}}
	return m
}

func silent(*dns.Msg, int) []*dns.Msg { return nil }

// soon asks within a short time, which shortens the waits of Ask as well. A
// machine that stood still may have missed them, and then asks a new server
// within a longer one: all of what Ask takes at last.
func soon(t *testing.T, start func() string, good func(Answer) bool) (a Answer, err error) {
	t.Helper()
	for timeout := 2 * time.Second; ; timeout *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		a, err = Ask(ctx, start(), "www.example.com.", record.A)
		cancel()
		if err == nil && good(a) || timeout > 2*budget {
			return a, err
		}
	}
}

// patiently tries with ever more time, as a machine that stood still may have missed
// what came.
func patiently(t *testing.T, try func(context.Context) (wrong string)) {
	t.Helper()
	for timeout := time.Second; ; timeout *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		wrong := try(ctx)
		cancel()
		if wrong == "" {
			return
		}
		if timeout > 2*budget {
			t.Fatal(wrong)
		}
	}
}

func TestAskSendsAgain(t *testing.T) {
	var packets atomic.Int64
	server := func() string {
		packets.Store(0)
		return fake(t, false, func(q *dns.Msg, i int) []*dns.Msg {
			packets.Add(1)
			if i == 0 {
				return nil
			}
			return []*dns.Msg{with(q, "192.0.2.1")}
		})
	}
	a, err := soon(t, server, func(a Answer) bool { return a.Transport == "udp" })
	if err != nil {
		t.Fatal(err)
	}
	if a.Transport != "udp" || packets.Load() != 2 {
		t.Errorf("answer over %s after %d packets, want udp after 2", a.Transport, packets.Load())
	}
}

func TestAskTurnsToTCPWhenUDPIsSilent(t *testing.T) {
	server := func() string { return fake(t, true, silent) }
	a, err := soon(t, server, func(Answer) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	if a.Transport != "tcp" || !cmp.Equal(a.Values, []string{"192.0.2.77"}) {
		t.Errorf("%v over %s", a.Values, a.Transport)
	}
}

func TestAskPassesOverWhatIsNoAnswer(t *testing.T) {
	server := fake(t, false, func(q *dns.Msg, _ int) []*dns.Msg {
		wrongID, wrongName, wrongType, noReply := with(q, "192.0.2.66"), with(q, "192.0.2.66"), with(q, "192.0.2.66"), with(q, "192.0.2.66")
		wrongID.Id++
		wrongName.Question[0].Name = "evil.example.com."
		wrongType.Question[0].Qtype = dns.TypeAAAA
		noReply.Response = false
		foreign := with(q, "192.0.2.1")
		other := with(q, "192.0.2.66").Answer[0]
		other.Header().Name = "other.example.com."
		foreign.Answer = append(foreign.Answer, other)
		return []*dns.Msg{wrongID, wrongName, wrongType, noReply, foreign}
	})
	a, err := Ask(t.Context(), server, "www.example.com.", record.A)
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(a.Values, []string{"192.0.2.1"}) {
		t.Errorf("values %v, want 192.0.2.1 alone", a.Values)
	}
}

func TestAskHonoursItsContext(t *testing.T) {
	server := fake(t, false, silent)
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan struct{}, 8)
	waiting := fake(t, false, func(*dns.Msg, int) []*dns.Msg { first <- struct{}{}; return nil })
	go func() { <-first; cancel() }()
	if _, err := Ask(ctx, waiting, "www.example.com.", record.A); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while it waits: error %v, want context.Canceled", err)
	}
	if _, err := Ask(ctx, server, "www.example.com.", record.A); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: error %v, want context.Canceled", err)
	}
}

// A server that takes connections and says nothing must not outlast the context.
func TestAskEndsWithItsContextOverTCP(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := Ask(ctx, listener.Addr().String(), "www.example.com.", record.A); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want context.DeadlineExceeded", err)
	}
}

func TestAskReportsBothTransports(t *testing.T) {
	const addr = "127.0.0.1:1" // nobody gets this port by chance
	_, err := Ask(t.Context(), addr, "www.example.com.", record.A)
	no, ok := errors.AsType[*NoAnswerError](err)
	if !ok || !errors.Is(no.UDP, syscall.ECONNREFUSED) || !errors.Is(no.TCP, syscall.ECONNREFUSED) || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("error %v, want connection refused over both transports", err)
	}
	if text := err.Error(); !strings.Contains(text, ": udp: ") || !strings.Contains(text, "; tcp: ") || strings.Contains(text, "\n") {
		t.Errorf("error %q, want both transports in one line", text)
	}
}

func TestAskRefusesWhatItCannotAsk(t *testing.T) {
	for _, c := range []struct {
		server string
		kind   record.Type
	}{{"ns.example.com:53", record.A}, {"", record.A}, {"127.0.0.1:x", record.A}, {"127.0.0.1:1", "NOTATYPE"}, {"127.0.0.1:1", "AXFR"}} {
		if _, err := Ask(t.Context(), c.server, "www.example.com.", c.kind); err == nil {
			t.Errorf("%q %s: no error", c.server, c.kind)
		}
	}
	if addr, err := parseServer("2001:db8::53"); err != nil || addr.String() != "[2001:db8::53]:53" {
		t.Errorf("an address without a port: %s, %v", addr, err)
	}
}

func TestReadShowsWhatCouldNotBeConfigured(t *testing.T) {
	q := new(dns.Msg).SetQuestion("www.example.com.", dns.TypeA)
	for _, address := range []string{"0.0.0.0", "224.0.0.1"} {
		if a := read(with(q, address), "www.example.com.", record.A); !cmp.Equal(a.Values, []string{address}) {
			t.Errorf("values %v, want %s", a.Values, address)
		}
	}
}

// A TTL with the top bit set is 0 (RFC 2181 section 8), that of a denial as well, and
// of several the lowest.
func TestReadTakesATTLThatIsTooLargeAsNothing(t *testing.T) {
	q := new(dns.Msg).SetQuestion("www.example.com.", dns.TypeA)
	for ttl, want := range map[uint32]time.Duration{1<<31 - 1: (1<<31 - 1) * time.Second, 1 << 31: 0, 0x80000005: 0} {
		m := with(q, "192.0.2.1")
		m.Answer[0].Header().Ttl = ttl
		denial := new(dns.Msg).SetRcode(q, dns.RcodeNameError)
		denial.Ns = []dns.RR{&dns.SOA{Hdr: dns.RR_Header{Name: "example.com.", Rrtype: dns.TypeSOA, Class: dns.ClassINET, Ttl: 1<<31 - 1}, Minttl: ttl}}
		for what, reply := range map[string]*dns.Msg{"answer": m, "denial": denial} {
			if a := read(reply, "www.example.com.", record.A); a.TTL != want || a.Untold {
				t.Errorf("%s of %d: %+v, want %s", what, ttl, a, want)
			}
		}
		m.Answer = append(m.Answer, with(q, "192.0.2.2").Answer...)
		if a := read(m, "www.example.com.", record.A); a.TTL != min(want, time.Minute) {
			t.Errorf("%d beside 60: %s", ttl, a.TTL)
		}
	}
}

// NODATA without an SOA (RFC 2308 section 2.2, type 3) is a denial whose lifetime is
// not told; with name servers it is a referral.
func TestReadNODATAWithoutAnSOA(t *testing.T) {
	q := new(dns.Msg).SetQuestion("www.example.com.", dns.TypeA)
	m := new(dns.Msg).SetReply(q)
	if a := read(m, "www.example.com.", record.A); a.Negative != NoData || !a.Untold || a.TTL != 0 {
		t.Errorf("%+v", a)
	}
	if a := read(referring(q, 0)[0], "www.example.com.", record.A); a.Negative != None || a.Untold {
		t.Errorf("a referral: %+v", a)
	}
}

func referring(question *dns.Msg, _ int) []*dns.Msg {
	m := new(dns.Msg).SetReply(question)
	m.RecursionAvailable = true
	m.Ns = []dns.RR{&dns.NS{Hdr: dns.RR_Header{Name: "example.com.", Rrtype: dns.TypeNS, Class: dns.ClassINET, Ttl: 60}, Ns: "ns.example.com."}}
	return []*dns.Msg{m}
}

// Packets that answer another question are told from silence.
func TestAskTellsOfWhatItIgnored(t *testing.T) {
	server := netip.MustParseAddrPort(fake(t, false, func(q *dns.Msg, _ int) []*dns.Msg {
		m := with(q, "192.0.2.66")
		m.Id++
		return []*dns.Msg{m}
	}))
	const want = "no answer in time; " + "answers that do not match were ignored"
	patiently(t, func(ctx context.Context) string {
		if v := recurse(ctx, Server{Addr: server}, "www.example.com.", record.A); !strings.Contains(v.Detail, want) {
			return fmt.Sprintf("%+v", v)
		}
		return ""
	})
}

// A loop of CNAMEs in an answer must end, whoever sent it.
func TestReadEndsOnALoop(t *testing.T) {
	q := new(dns.Msg).SetQuestion("a.example.com.", dns.TypeA)
	m := new(dns.Msg).SetReply(q)
	for _, text := range []string{"a.example.com. 60 IN CNAME b.example.com.", "b.example.com. 60 IN CNAME a.example.com."} {
		rr, err := dns.NewRR(text)
		if err != nil {
			t.Fatal(err)
		}
		m.Answer = append(m.Answer, rr)
	}
	if a := read(m, "a.example.com.", record.A); len(a.Values) != 0 || len(a.Aliases) != 2 {
		t.Errorf("%+v", a)
	}
}
