package rfc2136

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/provider"
)

// afterBadTime is how long a server with another clock is left alone: nothing
// that can be tried again mends a clock.
const afterBadTime = 30 * time.Second

// exchange is one request and what is known about it when a reply comes.
type exchange struct {
	op     string
	key    *key
	write  bool      // the request can change the zone
	signed time.Time // when the request was signed, on our clock
}

// unsure is the class of an outcome that the reply does not settle.
func (x exchange) unsure() provider.Class {
	if x.write {
		return provider.Ambiguous
	}
	return provider.Retryable
}

// judge turns a reply into an error, nil for success. trust is what the check
// of its signature found. A refusal for want of a right or a good key is
// believed without a signature, for a server that does not know the key cannot
// sign (RFC 8945 section 5.2); everything else has to be signed.
func (x exchange) judge(m *message, trust error) error {
	if m.rcode == dns.RcodeNotAuth && m.signature != nil && m.signature.Error != dns.RcodeSuccess {
		return x.badSignature(m, trust)
	}
	if hint, refused := x.refusal(m.rcode); refused {
		return &provider.Error{Class: provider.Permanent, Op: x.op, Code: rcodeName(m.rcode), Hint: hint, Err: errRefused}
	}
	if trust != nil {
		return &provider.Error{Class: x.unsure(), Op: x.op, Code: "TSIG", Err: trust}
	}
	switch m.rcode {
	case dns.RcodeSuccess:
		return nil
	case dns.RcodeNXRrset, dns.RcodeYXRrset, dns.RcodeNameError, dns.RcodeYXDomain:
		return &provider.Error{Class: provider.Conflict, Op: x.op, Code: rcodeName(m.rcode), Err: errChanged}
	}
	// SERVFAIL to an update promises a roll-back (RFC 2136 section 3.4.2.7) only
	// where the primary itself says it. A secondary that forwards updates says
	// it too when the primary's reply was lost, so the outcome is open.
	return &provider.Error{Class: x.unsure(), Op: x.op, Code: rcodeName(m.rcode), Err: errors.New("the server could not do it")}
}

var (
	errRefused = errors.New("the server refused")
	errChanged = errors.New("the zone is not what the list said: a prerequisite does not hold")
)

// refusal tells the rcodes that a person has to mend, with what to mend.
func (x exchange) refusal(rcode int) (hint string, refused bool) {
	what, bind, knot, pdns := x.rights()
	switch rcode {
	case dns.RcodeRefused:
		return fmt.Sprintf("allow %s to %s the zone (BIND: %s; Knot: %s; PowerDNS: %s), and see the server's log%s", x.who(), what, bind, knot, pdns, x.silent()), true
	case dns.RcodeNotAuth, dns.RcodeNotZone:
		return "the server is not the zone's primary; check server, transfer_from and the zone's name" + x.silent(), true
	case dns.RcodeFormatError, dns.RcodeNotImplemented:
		return fmt.Sprintf("the server does not do a %s as RFC 2136 and RFC 5936 have it; check that server is an authoritative server that allows it", what), true
	}
	return "", false
}

// rights is what the request needs, and how the three servers are told so.
func (x exchange) rights() (what, bind, knot, pdns string) {
	if x.write {
		return "update", `update-policy { grant "NAME" zonesub ANY; }`, "an acl with the key and action update", "dnsupdate=yes and pdnsutil set-meta ZONE TSIG-ALLOW-DNSUPDATE NAME"
	}
	return "transfer", `allow-transfer { key "NAME"; }`, "an acl with the key and action transfer", "pdnsutil set-meta ZONE TSIG-ALLOW-AXFR NAME"
}

// silent names what PowerDNS refuses with the same word, unsigned, so that
// nothing in the answer tells which it is: NOTAUTH to a transfer, REFUSED to an
// update.
func (x exchange) silent() string {
	if x.key == nil {
		return ""
	}
	return "; PowerDNS says the same to an unknown tsig.name, a wrong tsig.secret or tsig.algorithm, and a clock that is wrong by more than 10 s"
}

func (x exchange) who() string {
	if x.key == nil {
		return "this address"
	}
	return "the key " + x.key.name
}

// badSignature explains the errors of RFC 8945 section 5.2.
func (x exchange) badSignature(m *message, trust error) error {
	code := int(m.signature.Error)
	failed := &provider.Error{Class: provider.Permanent, Op: x.op, Code: tsigName(code), Err: errRefused}
	switch code {
	case dns.RcodeBadTime:
		return x.badTime(m, trust)
	case dns.RcodeBadKey:
		// Knot says so too when it knows the key and no acl allows it this.
		what, _, _, _ := x.rights()
		failed.Hint = fmt.Sprintf("the server does not know the %s, or does not let it %s the zone; check tsig.name, tsig.algorithm and the server's acl", x.key, what)
	case dns.RcodeBadSig:
		failed.Hint = fmt.Sprintf("the server has another secret for the %s; check tsig.secret and tsig.algorithm", x.key)
	default:
		failed.Hint = "the server refused the signature; see its log"
	}
	return failed
}

// badTime is definite where the reply is signed: the server looked at the time
// before anything else. It may work later, once a clock was set.
func (x exchange) badTime(m *message, trust error) error {
	failed := &provider.Error{
		Class: provider.Retryable, Op: x.op, Code: "BADTIME", After: afterBadTime,
		Err:  fmt.Errorf("the clock here differs by more than %v from the server's", fudge),
		Hint: "synchronise both clocks (chronyc tracking, timedatectl); the key is fine",
	}
	if theirs, said := serverTime(m.signature); said {
		apart, way := theirs.Sub(x.signed).Round(time.Second), "behind it"
		if apart < 0 {
			way = "ahead of it"
		}
		failed.Err = fmt.Errorf("the clock here differs by about %d s from the server's, and is %s", apart.Abs()/time.Second, way)
	}
	if trust != nil {
		failed.Class, failed.Err = x.unsure(), fmt.Errorf("%w; %w", failed.Err, trust)
	}
	return failed
}

func rcodeName(rcode int) string {
	if name, known := dns.RcodeToString[rcode]; known {
		return name
	}
	return fmt.Sprintf("RCODE%d", rcode)
}

// tsigName names an error of a TSIG record; the library's table has another
// name for 16, which BADVERS shares.
func tsigName(code int) string {
	if code == dns.RcodeBadSig {
		return "BADSIG"
	}
	return rcodeName(code)
}

// lost is a connection that failed before anything could have happened.
func lost(op string, err error) error {
	hint := ""
	if failed := (*net.OpError)(nil); errors.As(err, &failed) && failed.Op == "dial" {
		hint = "a name server has to answer there over TCP, which transfers and updates take; check server and transfer_from, the way there, and whether it runs"
	}
	return &provider.Error{Class: provider.Retryable, Op: op, Hint: hint, Err: err}
}
