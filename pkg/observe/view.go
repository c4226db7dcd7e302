package observe

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/record"
)

// Outcome is what came of one question to one name server.
type Outcome string

// The outcomes. Only the first three say something of the name.
const (
	Answered         Outcome = "answer"            // there are values, or an alias that leads elsewhere
	AnsweredNXDomain Outcome = "nxdomain"          // the name does not exist
	AnsweredNoData   Outcome = "nodata"            // the name exists, without this type
	Refused          Outcome = "refused"           // the server will not answer this client or for this zone
	ServFail         Outcome = "servfail"          // the server tried and could not
	NotAuthoritative Outcome = "not-authoritative" // a server of the zone answered as if it were none: it does not have the zone
	NoRecursion      Outcome = "no-recursion"      // what was asked as a resolver is none
	TimedOut         Outcome = "timeout"           // nothing came in time, over UDP and TCP
	Unreachable      Outcome = "unreachable"       // nobody listens there, or no way leads there
	Failed           Outcome = "failed"            // anything else; the detail says what
)

// Told reports whether an outcome says something of the name, be it that it
// does not exist.
func (o Outcome) Told() bool {
	return o == Answered || o == AnsweredNXDomain || o == AnsweredNoData
}

// Negative reports whether an outcome says that there is nothing, which caches
// keep as they keep values.
func (o Outcome) Negative() bool { return o == AnsweredNXDomain || o == AnsweredNoData }

// View is what one name server was seen to answer.
type View struct {
	Server  Server
	Outcome Outcome
	Values  []string      // as in Answer; for a record set of type CNAME its target
	Aliases []record.Name // as in Answer
	// TTL is what the server says: of a resolver how long its cache holds the
	// answer yet, of a negative one the lower of the SOA's TTL and MINIMUM (RFC
	// 2308 section 5); 0 also where none was told.
	TTL    time.Duration
	Untold bool          // of a negative answer: it came without an SOA, so that its TTL is not known
	Detail string        // why there is no answer, in words; empty with one
	At     time.Time     // when the question was sent, or the first of them
	Took   time.Duration // from then until the answer, or until there was none
}

// Server is a name server.
type Server struct {
	Name record.Name // as the NS record has it; empty where only the address is known
	Addr netip.AddrPort
}

func (s Server) String() string {
	where := s.Addr.String()
	if s.Addr.Port() == 53 {
		where = s.Addr.Addr().String()
	}
	if s.Name == "" {
		return where
	}
	return s.Name.Unrooted() + " " + where
}

// same reports whether two views say the same of the name, whatever their times.
func (v View) same(o View) bool {
	return v.Outcome == o.Outcome && slices.Equal(v.Values, o.Values) && slices.Equal(v.Aliases, o.Aliases)
}

// lookAt asks an authoritative server.
func lookAt(ctx context.Context, s Server, name record.Name, t record.Type) View {
	start := time.Now()
	reply, answer, err := pose(ctx, s.Addr, name, t, false)
	v := viewOf(s, t, answer, err)
	if err == nil && !reply.Authoritative && (v.Outcome.Told() || reply.Rcode == dns.RcodeSuccess) {
		v.Outcome, v.Detail = NotAuthoritative, "it answered from a cache, or with a referral: it does not have the zone"
	}
	v.At, v.Took = start, time.Since(start)
	return v
}

// lookThrough asks resolvers in their order until one tells, as the resolver of
// the C library does. Each gets an equal part of the time that is left. A
// record set of type CNAME is asked for as its users ask: for addresses.
func lookThrough(ctx context.Context, resolvers []netip.AddrPort, name record.Name, t record.Type) (v View, addresses []string) {
	start := time.Now()
	defer func() { v.At, v.Took = start, time.Since(start) }()
	for i, addr := range resolvers {
		part, cancel := context.WithTimeout(ctx, remaining(ctx)/time.Duration(len(resolvers)-i))
		v, addresses = lookThroughOne(part, Server{Addr: addr}, name, t)
		cancel()
		if v.Outcome.Told() || ctx.Err() != nil {
			return v, addresses
		}
	}
	return v, addresses
}

func lookThroughOne(ctx context.Context, s Server, name record.Name, t record.Type) (v View, addresses []string) {
	if t != record.CNAME {
		v = recurse(ctx, s, name, t)
		return v, v.Values
	}
	for _, family := range []record.Type{record.A, record.AAAA} {
		v = recurse(ctx, s, name, family)
		if len(v.Values) > 0 || v.Outcome != AnsweredNoData {
			break
		}
	}
	addresses = v.Values
	if len(v.Aliases) > 0 {
		v.Values = []string{string(v.Aliases[0])}
	}
	return v, addresses
}

// recurse asks one resolver for one type.
func recurse(ctx context.Context, s Server, name record.Name, t record.Type) View {
	reply, answer, err := pose(ctx, s.Addr, name, t, true)
	v := viewOf(s, t, answer, err)
	if err == nil && !reply.RecursionAvailable && !reply.Authoritative && v.Outcome != Refused && v.Outcome != ServFail {
		v.Outcome, v.Detail = NoRecursion, "it does not resolve names for this machine"
	}
	return v
}

// viewOf sorts what came of a question.
func viewOf(s Server, t record.Type, a Answer, err error) View {
	v := View{Server: s}
	if err != nil {
		v.Outcome, v.Detail = unanswered(err)
		return v
	}
	v.Values, v.Aliases, v.TTL, v.Untold = a.Values, a.Aliases, a.TTL, a.Untold
	switch {
	case a.Rcode == dns.RcodeToString[dns.RcodeRefused]:
		v.Outcome, v.Detail = Refused, "it answered REFUSED"
	case a.Rcode == dns.RcodeToString[dns.RcodeServerFailure]:
		v.Outcome, v.Detail = ServFail, "it answered SERVFAIL"
	case a.Negative == NXDomain:
		v.Outcome = AnsweredNXDomain
	case a.Negative == NoData:
		v.Outcome = AnsweredNoData
	case a.Rcode != dns.RcodeToString[dns.RcodeSuccess]:
		v.Outcome, v.Detail = Failed, "it answered "+a.Rcode
	case len(a.Values) == 0 && len(a.Aliases) == 0:
		v.Outcome, v.Detail = Failed, "it answered without "+string(t)+" and without the SOA that would say that there is none"
	default:
		v.Outcome = Answered
	}
	return v
}

// unanswered says why no answer came: what UDP met, which is asked first, and
// TCP where that met something else.
func unanswered(err error) (Outcome, string) {
	no, ok := errors.AsType[*NoAnswerError](err)
	if !ok {
		return Failed, clean(err.Error())
	}
	outcome, words := unheard(no.UDP)
	if no.TCP != nil {
		if _, tcp := unheard(no.TCP); tcp != words {
			words = "udp: " + words + ", tcp: " + tcp
		}
	}
	return outcome, clean(words)
}

func unheard(err error) (Outcome, string) {
	outcome, words := silence(err)
	if errors.Is(err, ErrIgnored) {
		words += "; " + ErrIgnored.Error()
	}
	return outcome, words
}

// silence sorts one transport's part of why no answer came.
func silence(err error) (Outcome, string) {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return TimedOut, "no answer in time"
	}
	errno, ok := errors.AsType[syscall.Errno](err)
	switch {
	case !ok:
		return Failed, err.Error()
	case errno == syscall.ECONNREFUSED:
		return Unreachable, "nobody listens there (connection refused)"
	case errno == syscall.ETIMEDOUT:
		return TimedOut, errno.Error()
	}
	return Unreachable, errno.Error()
}
