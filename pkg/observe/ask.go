package observe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/record"
)

const (
	budget   = 5 * time.Second // for one question whose context has no earlier deadline
	patience = 2 * time.Second // for UDP out of it, in which the question is sent twice
	sends    = 2
	udpSize  = 1232 // the largest answer asked for over UDP (DNS Flag Day 2020)
)

// Negative is the way in which an answer says that there is nothing.
type Negative string

// The kinds of negative answers (RFC 2308 section 2).
const (
	NXDomain Negative = "nxdomain" // the name does not exist
	NoData   Negative = "nodata"   // the name exists, without this type
	None     Negative = "none"     // there are values, or the server answered otherwise: see Rcode and Authoritative
)

// Answer is what one server said about one name and type.
type Answer struct {
	Server        string // ADDRESS:PORT
	Name          record.Name
	Type          record.Type
	Values        []string      // of the type, canonical as in package record, sorted, each once
	Aliases       []record.Name // the CNAME targets between the name and the values, in order; a record set asked for directly has none
	TTL           time.Duration // the lowest of the records that lead to the values; of a negative answer how long it may be cached; 0 without either
	Untold        bool          // of a negative answer: it came without the SOA that tells how long it may be cached
	Rcode         string        // NOERROR, NXDOMAIN, REFUSED, …
	Authoritative bool          // the AA flag; a value without it came from a cache
	Negative      Negative
	Transport     string        // "udp" or "tcp"
	RTT           time.Duration // from the first sending over Transport to the answer
}

// Ask asks one authoritative server, ADDRESS or ADDRESS:PORT, for one name and
// type, without recursion. It asks over UDP, sends again after a second, and
// turns to TCP when the answer is truncated, does not come within two seconds
// or cannot be had. All of it takes at most five seconds, or as long as the
// context lasts: a shorter deadline shortens the waits in proportion.
//
// An answer that says no, by any rcode, is an answer; an error means that there
// was none.
func Ask(ctx context.Context, server string, name record.Name, t record.Type) (Answer, error) {
	a, err := ask(ctx, server, name, t)
	if err != nil {
		return Answer{}, fmt.Errorf("ask %s for %s %s: %w", server, name, t, err)
	}
	return a, nil
}

func ask(ctx context.Context, server string, name record.Name, t record.Type) (Answer, error) {
	addr, err := parseServer(server)
	if err != nil {
		return Answer{}, err
	}
	_, a, err := pose(ctx, addr, name, t, false)
	return a, err
}

// pose asks one server, with or without recursion, and gives its message and
// what that says of the name.
func pose(ctx context.Context, server netip.AddrPort, name record.Name, t record.Type, recursion bool) (*dns.Msg, Answer, error) {
	kind, known := dns.StringToType[string(t)]
	if !known || kind == dns.TypeAXFR || kind == dns.TypeIXFR {
		return nil, Answer{}, fmt.Errorf("type %q is none that can be asked for", t)
	}
	question := new(dns.Msg).SetQuestion(dns.Fqdn(string(name)), kind).SetEdns0(udpSize, false)
	question.RecursionDesired = recursion
	reply, transport, rtt, err := Exchange(ctx, server, question)
	if err != nil {
		return nil, Answer{}, err
	}
	a := read(reply, name, t)
	a.Server, a.Transport, a.RTT = server.String(), transport, rtt
	return reply, a, nil
}

func parseServer(s string) (netip.AddrPort, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return netip.AddrPortFrom(addr, 53), nil
	}
	addr, err := netip.ParseAddrPort(s)
	if err != nil {
		return netip.AddrPort{}, errors.New("expected ADDRESS or ADDRESS:PORT, as 192.0.2.53:53; names of servers are not resolved")
	}
	return addr, nil
}

// Exchange sends one question to one server, in the manner and within the times
// of Ask, and gives the whole message that answers it: same id, same question.
// It tells the transport and the time from the first sending over it. An error
// is a *NoAnswerError: no whole answer came. What an answer says is not judged.
func Exchange(ctx context.Context, server netip.AddrPort, question *dns.Msg) (reply *dns.Msg, transport string, rtt time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	start := time.Now()
	reply, udpErr := overUDP(ctx, server, question)
	if udpErr == nil && !reply.Truncated {
		return reply, "udp", time.Since(start), nil
	}
	if udpErr == nil {
		udpErr = errors.New("the answer was truncated")
	}
	if ctx.Err() != nil {
		return nil, "", 0, &NoAnswerError{UDP: udpErr}
	}
	start = time.Now()
	reply, tcpErr := overTCP(ctx, server, question)
	if tcpErr != nil {
		return nil, "", 0, &NoAnswerError{UDP: udpErr, TCP: tcpErr}
	}
	return reply, "tcp", time.Since(start), nil
}

// NoAnswerError says what came of a question over each transport that was tried.
type NoAnswerError struct {
	UDP error
	TCP error // nil when there was no time left to try it
}

func (n *NoAnswerError) Error() string {
	if n.TCP == nil {
		return "udp: " + n.UDP.Error()
	}
	return fmt.Sprintf("udp: %v; tcp: %v", n.UDP, n.TCP)
}

// Unwrap gives the cause of each transport.
func (n *NoAnswerError) Unwrap() []error {
	if n.TCP == nil {
		return []error{n.UDP}
	}
	return []error{n.UDP, n.TCP}
}

// overUDP sends the question at most twice on one socket, so that an answer to
// the first sending that comes late still counts.
func overUDP(ctx context.Context, server netip.AddrPort, question *dns.Msg) (*dns.Msg, error) {
	conn, done, err := dial(ctx, "udp", server)
	if err != nil {
		return nil, err
	}
	defer done()
	wait, ignored := udpPatience(ctx)/sends, false
	for range sends {
		if err := conn.WriteMsg(question); err != nil {
			return nil, lost(ctx, err)
		}
		reply, other, err := awaitUDP(conn, question, time.Now().Add(wait))
		ignored = ignored || other
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return nil, orIgnored(lost(ctx, err), ignored)
		}
		return reply, nil
	}
	return nil, orIgnored(fmt.Errorf("no answer to %d packets within %s: %w", sends, (sends*wait).Round(time.Millisecond), os.ErrDeadlineExceeded), ignored)
}

// ErrIgnored is beside why no answer came over UDP, where packets came that answer
// another question, or none.
var ErrIgnored = errors.New("answers that do not match were ignored")

func orIgnored(err error, ignored bool) error {
	if ignored {
		return fmt.Errorf("%w; %w", err, ErrIgnored)
	}
	return err
}

// udpPatience leaves at least half of what is left of the context to TCP.
func udpPatience(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline() // Exchange has set one
	return min(patience, time.Until(deadline)/2)
}

// awaitUDP reads until the answer to the question comes. Anything else is
// passed over, and told as other: it may be forged, and the true answer may follow.
func awaitUDP(conn *dns.Conn, question *dns.Msg, until time.Time) (reply *dns.Msg, other bool, err error) {
	if err := conn.SetReadDeadline(until); err != nil {
		return nil, false, err
	}
	packet := make([]byte, dns.MaxMsgSize)
	for {
		n, err := conn.Read(packet)
		if err != nil {
			return nil, other, err
		}
		reply = new(dns.Msg)
		if reply.Unpack(packet[:n]) == nil && matches(reply, question) {
			return reply, other, nil
		}
		other = true
	}
}

func overTCP(ctx context.Context, server netip.AddrPort, question *dns.Msg) (*dns.Msg, error) {
	conn, done, err := dial(ctx, "tcp", server)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := conn.WriteMsg(question); err != nil {
		return nil, lost(ctx, err)
	}
	reply, err := conn.ReadMsg()
	if err != nil {
		return nil, lost(ctx, err)
	}
	if !matches(reply, question) {
		return nil, errors.New("the answer is to another question")
	}
	return reply, nil
}

// dial opens a connection that fails as soon as the context ends; done closes it.
func dial(ctx context.Context, network string, server netip.AddrPort) (conn *dns.Conn, done func(), err error) {
	raw, err := new(net.Dialer).DialContext(ctx, network, server.String())
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() }) // what waits on it reports the context
	return &dns.Conn{Conn: raw, UDPSize: udpSize}, func() {
		stop()
		_ = raw.Close() // the answer is there, or its error told
	}, nil
}

// lost tells why a connection gave no answer: the context, when it was that.
func lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("no answer: %w", context.Cause(ctx))
	}
	return err
}

// matches reports whether a message answers a question (RFC 5452 section 9.1).
// A server that could not read the question may leave it out.
func matches(reply, question *dns.Msg) bool {
	if !reply.Response || reply.Id != question.Id {
		return false
	}
	if len(reply.Question) == 0 {
		return reply.Rcode != dns.RcodeSuccess
	}
	got, want := reply.Question[0], question.Question[0]
	return len(reply.Question) == 1 && strings.EqualFold(got.Name, want.Name) && got.Qtype == want.Qtype && got.Qclass == want.Qclass
}
