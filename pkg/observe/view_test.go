package observe

import (
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/record"
)

func answering(rcode int, ra bool) func(*dns.Msg, int) []*dns.Msg {
	return func(q *dns.Msg, _ int) []*dns.Msg {
		m := new(dns.Msg).SetRcode(q, rcode)
		m.RecursionAvailable = ra
		return []*dns.Msg{m}
	}
}

// TestOutcomes gives every way to say no, or to say nothing, its own name.
func TestOutcomes(t *testing.T) {
	own := netip.MustParseAddrPort(serve(t, zoneText))
	server := func(answers func(*dns.Msg, int) []*dns.Msg) netip.AddrPort {
		return netip.MustParseAddrPort(fake(t, false, answers))
	}
	closed := netip.MustParseAddrPort("127.0.0.1:1")
	for _, c := range []struct {
		what   string
		at     netip.AddrPort
		name   record.Name
		server Outcome // asked as a server of the zone
		cache  Outcome // asked as a resolver
	}{
		{"values", own, "www.example.com.", Answered, Answered},
		{"an alias that leads elsewhere", own, "far.example.com.", Answered, Answered},
		{"no name", own, "nothing.example.com.", AnsweredNXDomain, AnsweredNXDomain},
		{"no type", own, "mx.example.com.", AnsweredNoData, AnsweredNoData},
		{"a referral", own, "a.sub.example.com.", NotAuthoritative, NoRecursion},
		{"another zone", own, "www.example.net.", Refused, Refused},
		{"a failure", server(answering(dns.RcodeServerFailure, true)), "www.example.com.", ServFail, ServFail},
		{"no type, without an SOA", server(answering(dns.RcodeSuccess, true)), "www.example.com.", NotAuthoritative, AnsweredNoData},
		{"a referral of a resolver", server(referring), "www.example.com.", NotAuthoritative, Failed},
		{"an odd rcode", server(answering(dns.RcodeNotImplemented, true)), "www.example.com.", Failed, Failed},
		{"silence", server(silent), "www.example.com.", TimedOut, TimedOut},
		{"nobody", closed, "www.example.com.", Unreachable, Unreachable},
	} {
		t.Run(c.what, func(t *testing.T) {
			o := Options{Name: c.name, Type: record.A, Servers: []Server{{Addr: c.at}}, Resolvers: []netip.AddrPort{c.at}, Timeout: 20 * time.Second}
			if c.server == TimedOut {
				o.Timeout = 300 * time.Millisecond
			}
			watching(t, o, func(next func() (Sample, []Event), _ *Watcher, _ *Timeline) {
				s, _ := next()
				if s.Servers[0].Outcome != c.server || s.Resolver.Outcome != c.cache {
					t.Errorf("server %+v\nresolver %+v", s.Servers[0], s.Resolver)
				}
				for _, v := range []View{s.Servers[0], s.Resolver} {
					if v.Outcome.Told() != (v.Detail == "") || v.Said() == "" || v.Took <= 0 {
						t.Errorf("outcome %s with detail %q, said %q after %s", v.Outcome, v.Detail, v.Said(), v.Took)
					}
				}
			})
		})
	}
}

// TestCNAMESets asks for an alias as its users do, and dials what it leads to.
func TestCNAMESets(t *testing.T) {
	at := netip.MustParseAddrPort(serve(t, zoneText))
	o := Options{Name: "alias.example.com.", Type: record.CNAME, Servers: []Server{{Addr: at}}, Resolvers: []netip.AddrPort{at}}
	watching(t, o, func(next func() (Sample, []Event), _ *Watcher, line *Timeline) {
		s, _ := next()
		for _, v := range []View{s.Servers[0], s.Resolver} {
			if v.Said() != "www.example.com." || v.TTL != 30*time.Second {
				t.Errorf("%+v", v)
			}
		}
		if got := findings(line); got != "" {
			t.Errorf("findings %q", got)
		}
	})
	_, addresses := lookThrough(t.Context(), o.Resolvers, o.Name, o.Type)
	if fmt.Sprint(addresses) != "[192.0.2.10 192.0.2.9]" {
		t.Errorf("addresses %v", addresses)
	}
}

// TestTheNextResolverIsAsked when the first does not tell, and the last is shown
// when none does.
func TestTheNextResolverIsAsked(t *testing.T) {
	good := netip.MustParseAddrPort(serve(t, zoneText))
	bad := netip.MustParseAddrPort(fake(t, false, answering(dns.RcodeServerFailure, true)))
	if v, _ := lookThrough(t.Context(), []netip.AddrPort{bad, good}, "www.example.com.", record.A); v.Outcome != Answered || v.Server.Addr != good {
		t.Errorf("got %+v", v)
	}
	if v, _ := lookThrough(t.Context(), []netip.AddrPort{bad, bad}, "www.example.com.", record.A); v.Outcome != ServFail || v.Server.Addr != bad {
		t.Errorf("got %+v", v)
	}
}

// TestOnlyResolversAreAskedToRecurse: a name server of the zone that also resolves
// must not look elsewhere.
func TestOnlyResolversAreAskedToRecurse(t *testing.T) {
	var recurse atomic.Bool
	at := netip.MustParseAddrPort(fake(t, false, func(q *dns.Msg, _ int) []*dns.Msg {
		recurse.Store(q.RecursionDesired)
		return []*dns.Msg{with(q, "192.0.2.1")}
	}))
	if v := lookAt(t.Context(), Server{Addr: at}, "www.example.com.", record.A); v.Outcome != Answered || recurse.Load() {
		t.Errorf("a name server: %+v, asked to recurse: %v", v, recurse.Load())
	}
	if v, _ := lookThrough(t.Context(), []netip.AddrPort{at}, "www.example.com.", record.A); v.Outcome != Answered || !recurse.Load() {
		t.Errorf("a resolver: %+v, asked to recurse: %v", v, recurse.Load())
	}
}
