package observe

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/provider/providertest/realserver"
	"sidestep/pkg/record"
	"sidestep/providers/rfc2136/rfc2136test"
)

// ttl is that of all values of the zone, and how long its absences last.
const ttl = 3 * time.Second

const realZone = `
@     7200 IN SOA ns hostmaster 1 3600 600 86400 3
@     3    IN NS  ns
ns    3    IN A   127.0.0.1
ns    3    IN AAAA ::1
www   3    IN A   192.0.2.1
text  3    IN TXT "no address"
`

// update sets the addresses of www, by DNS UPDATE; none takes the name out.
func update(t *testing.T, s *rfc2136test.Server, values ...string) {
	t.Helper()
	m := new(dns.Msg).SetUpdate("example.com.")
	m.RemoveRRset([]dns.RR{&dns.A{Hdr: dns.RR_Header{Name: "www.example.com.", Rrtype: dns.TypeA, Class: dns.ClassINET}}})
	for _, v := range values {
		m.Insert([]dns.RR{&dns.A{Hdr: dns.RR_Header{Name: "www.example.com.", Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: uint32(ttl / time.Second)}, A: net.ParseIP(v)}})
	}
	m.SetTsig(s.Key.Name, dns.HmacSHA256, 300, time.Now().Unix())
	client := dns.Client{Net: "tcp", Timeout: 30 * time.Second, TsigSecret: map[string]string{s.Key.Name: s.Key.Secret}}
	reply, _, err := client.ExchangeContext(t.Context(), m, s.Addr)
	if err != nil || reply.Rcode != dns.RcodeSuccess {
		t.Fatalf("update: %v %v", reply, err)
	}
}

// switchWatch looks at www.example.com through unbound, and at BIND itself.
func switchWatch(bind *rfc2136test.Server, unbound *realserver.Process) Options {
	return Options{
		Name: "www.example.com.", Type: record.A, Timeout: 20 * time.Second,
		Servers:   []Server{{Name: "ns.example.com.", Addr: netip.MustParseAddrPort(bind.Addr)}},
		Resolvers: []netip.AddrPort{netip.MustParseAddrPort(unbound.Addr)},
	}
}

// errSlow is that this machine stood still for as long as the cache holds.
var errSlow = errors.New("too slow to see what a cache holds")

// story is a watch of a name in a real zone, through a real cache.
type story struct {
	t    *testing.T
	w    *Watcher
	bind *rfc2136test.Server
	line Timeline
}

// until takes samples until one is as wanted, or the cache must have let go of
// all that it held for a while.
func (s *story) until(what string, want func(Sample) bool) Sample {
	s.t.Helper()
	end := time.Now().Add(time.Minute)
	for {
		sample := s.w.Sample(s.t.Context())
		s.line.Add(sample)
		if want(sample) {
			return sample
		}
		if time.Now().After(end) {
			s.t.Fatalf("never came: %s; seen last: zone %s, cache %s\n%v", what, sample.Servers[0].Said(), sample.Resolver.Said(), s.line.Events)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// held takes the next sample, in which the cache still has to hold what it held
// at a time, with less of its TTL.
func (s *story) held(since Sample, seen string) error {
	sample := s.w.Sample(s.t.Context())
	s.line.Add(sample)
	v := sample.Resolver
	if v.Said() != since.Resolver.Said() && time.Since(since.At) >= since.Resolver.TTL-time.Second {
		return errSlow
	}
	if v.Said() != since.Resolver.Said() || v.TTL > since.Resolver.TTL {
		s.t.Errorf("the cache says %s for %s, and had %s for %s", v.Said(), v.TTL, since.Resolver.Said(), since.Resolver.TTL)
	}
	var found []string
	for _, f := range s.line.Findings() {
		found = append(found, f.Seen)
	}
	if got := strings.Join(found, "; "); got != seen {
		s.t.Errorf("findings %q, want %q", got, seen)
	}
	return nil
}

func full(v View) bool { return v.Outcome.Told() && v.TTL == ttl }

// play moves a name, takes it away and repairs it.
func (s *story) play() error {
	was := s.until("a fresh answer", func(o Sample) bool { return full(o.Resolver) && o.Resolver.Said() == "192.0.2.1" })
	update(s.t, s.bind, "192.0.2.2")
	if err := s.held(was, "authoritative new, application old"); err != nil {
		return err
	}
	s.until("the new answer", func(o Sample) bool { return o.Resolver.Said() == "192.0.2.2" })
	s.counts("192.0.2.1")
	update(s.t, s.bind)
	was = s.until("NXDOMAIN in the cache, just asked for", func(o Sample) bool { return o.Resolver.Outcome == AnsweredNXDomain && full(o.Resolver) })
	update(s.t, s.bind, "192.0.2.1")
	if err := s.held(was, "repaired, but NXDOMAIN or NODATA"); err != nil {
		return err
	}
	s.until("the repaired name", func(o Sample) bool { return o.Resolver.Said() == "192.0.2.1" })
	s.counts("NXDOMAIN")
	return nil
}

// counts holds against each other what the cache said of the TTL while it held
// one answer: it only fell, and by a second at least.
func (s *story) counts(said string) {
	s.t.Helper()
	last, seen := ttl, map[time.Duration]bool{}
	for _, sample := range s.line.Samples {
		v := sample.Resolver
		if v.Said() != said {
			last = ttl
			continue
		}
		if v.TTL > last && v.TTL != ttl { // a new answer has a whole one
			s.t.Errorf("the TTL of %s went from %s to %s", said, last, v.TTL)
		}
		last, seen[v.TTL] = v.TTL, true
	}
	if len(seen) < 2 {
		s.t.Errorf("the TTL of %s did not count down: %v", said, seen)
	}
}

// TestThroughRealUnbound watches a switch in a zone on BIND through unbound: the
// cache holds the old answer, and the absence, for as long as it says.
func TestThroughRealUnbound(t *testing.T) {
	bind := rfc2136test.StartBIND(t, rfc2136test.Zone{Name: "example.com.", Text: realZone})
	unbound := rfc2136test.StartUnbound(t, bind.Addr)
	for try := 0; ; try++ {
		err := Watch(switchWatch(bind, unbound), func(w *Watcher) error {
			update(t, bind, "192.0.2.1")
			s := &story{t: t, w: w, bind: bind}
			return s.play()
		})
		if err == nil {
			break
		}
		if !errors.Is(err, errSlow) || try == 5 {
			t.Fatal(err)
		}
		t.Log(err)
	}
	t.Run("outcomes", func(t *testing.T) { wantOutcomes(t, bind, unbound) })
	t.Run("servers", func(t *testing.T) { wantServers(t, unbound) })
	t.Run("standing still", func(t *testing.T) {
		unbound.Signal(t, syscall.SIGSTOP)
		o := switchWatch(bind, unbound)
		o.Timeout = time.Second
		v := sampleOf(t, o).Resolver
		unbound.Signal(t, syscall.SIGCONT)
		if v.Outcome != TimedOut || v.Detail != "no answer in time" {
			t.Errorf("got %+v", v)
		}
	})
}

func sampleOf(t *testing.T, o Options) (s Sample) {
	t.Helper()
	if err := Watch(o, func(w *Watcher) error { s = w.Sample(t.Context()); return nil }); err != nil {
		t.Fatal(err)
	}
	return s
}

// wantOutcomes asks for what is not there, and the wrong ones.
func wantOutcomes(t *testing.T, bind *rfc2136test.Server, unbound *realserver.Process) {
	usual := switchWatch(bind, unbound)
	for name, c := range map[string]struct {
		change           func(*Options)
		server, resolver Outcome
	}{
		"nodata":                 {func(o *Options) { o.Name = "text.example.com." }, AnsweredNoData, AnsweredNoData},
		"nxdomain":               {func(o *Options) { o.Name = "nothing.example.com." }, AnsweredNXDomain, AnsweredNXDomain},
		"a zone that nobody has": {func(o *Options) { o.Name = "www.example.net." }, Refused, ServFail},
		"a cache as name server": {func(o *Options) { o.Servers[0].Addr = o.Resolvers[0] }, Refused, Answered},
		"a name server as resolver": {func(o *Options) {
			o.Name, o.Resolvers = "www.example.net.", []netip.AddrPort{o.Servers[0].Addr}
		}, Refused, Refused},
		"the next resolver": {func(o *Options) {
			o.Resolvers = append([]netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:1")}, o.Resolvers...)
		}, Answered, Answered},
	} {
		t.Run(name, func(t *testing.T) {
			o := usual
			o.Servers = append([]Server{}, usual.Servers...)
			c.change(&o)
			s := sampleOf(t, o)
			if s.Servers[0].Outcome != c.server || s.Resolver.Outcome != c.resolver {
				t.Errorf("server %+v\nresolver %+v", s.Servers[0], s.Resolver)
			}
			if v := s.Resolver; v.Outcome.Negative() && (v.TTL <= 0 || v.TTL > ttl) {
				t.Errorf("negative for %s, want up to %s", v.TTL, ttl)
			}
		})
	}
}

// wantServers finds the zone's name servers through unbound, over both families.
func wantServers(t *testing.T, unbound *realserver.Process) {
	resolvers := []netip.AddrPort{netip.MustParseAddrPort(unbound.Addr)}
	found, err := FindServers(t.Context(), resolvers, "example.com.")
	if err != nil || len(found) != 2 || found[0].String() != "ns.example.com 127.0.0.1" || found[1].String() != "ns.example.com ::1" {
		t.Errorf("found %v, %v", found, err)
	}
	for zone, want := range map[record.Name]string{
		"www.example.com.":  "find the name servers of www.example.com.: resolver " + unbound.Addr + ": there is none (NODATA)",
		"none.example.com.": "find the name servers of none.example.com.: resolver " + unbound.Addr + ": it does not exist (NXDOMAIN)",
		"example.net.":      "find the name servers of example.net.: resolver " + unbound.Addr + ": servfail: it answered SERVFAIL",
	} {
		if found, err := FindServers(t.Context(), resolvers, zone); err == nil || err.Error() != want {
			t.Errorf("%s: found %v, %v, want %s", zone, found, err, want)
		}
	}
}
