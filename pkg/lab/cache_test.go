package lab

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/authority"
	"sidestep/pkg/authority/authoritytest"
	"sidestep/pkg/record"
)

// serveUntilEnd runs a server until the test ends.
func serveUntilEnd(t *testing.T, serve func(context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// cached is a cache with an upstream whose zone can be changed, and a clock that a
// test moves.
type cached struct {
	t      *testing.T
	server *authority.Server
	cache  *Cache
	ahead  atomic.Int64
}

const cachedZone = "@ 60 IN SOA ns h 1 60 60 60 7\n@ 60 IN NS ns\n"

func newCached(t *testing.T) *cached {
	t.Helper()
	c := &cached{t: t, server: authoritytest.Start(t, "lab.test.", cachedZone)}
	c.cache = NewCache(c.server.Addr())
	start := time.Now()
	c.cache.now = func() time.Time { return start.Add(time.Duration(c.ahead.Load())) }
	if err := c.cache.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	serveUntilEnd(t, c.cache.Serve)
	return c
}

// holds puts records into the zone, in the place of those before. Its negative
// answers hold for 7 seconds.
func (c *cached) holds(lines string) {
	c.t.Helper()
	authoritytest.Set(c.t, c.server, "lab.test.", cachedZone+lines)
}

func (c *cached) pass(d time.Duration) { c.ahead.Add(int64(d)) }

// says asks the cache: "NOERROR 127.0.0.1 30", or a rcode and the TTL of the SOA.
func (c *cached) says(name record.Name, kind uint16, network string) string {
	c.t.Helper()
	client := &dns.Client{Net: network, Timeout: time.Minute}
	reply, _, err := client.Exchange(new(dns.Msg).SetQuestion(string(name), kind), c.cache.Addr())
	if err != nil {
		c.t.Fatal(err)
	}
	if reply.Authoritative || !reply.RecursionAvailable {
		c.t.Errorf("it answers like an authoritative server: %s", reply)
	}
	said := dns.RcodeToString[reply.Rcode]
	for _, rr := range reply.Answer {
		value := dns.Field(rr, 1)
		if a, is := rr.(*dns.A); is {
			value = a.A.String()
		}
		said += fmt.Sprintf(" %s %d", value, rr.Header().Ttl)
	}
	for _, rr := range reply.Ns {
		said += fmt.Sprintf(" SOA %d", rr.Header().Ttl)
	}
	return said
}

func (c *cached) want(want string, name record.Name, kind uint16) {
	c.t.Helper()
	for _, network := range []string{"udp", "tcp"} {
		if got := c.says(name, kind, network); got != want {
			c.t.Errorf("%s %s over %s: %s, want %s", name, dns.Type(kind), network, got, want)
		}
	}
}

func TestCacheKeepsForTheTTLAndCountsDown(t *testing.T) {
	c := newCached(t)
	c.holds("www 30 IN A 127.0.0.1\n")
	c.want("NOERROR 127.0.0.1 30", "www.lab.test.", dns.TypeA)
	c.holds("www 40 IN A 127.0.0.2\n")
	c.pass(29 * time.Second)
	c.want("NOERROR 127.0.0.1 1", "WWW.lab.test.", dns.TypeA)
	c.pass(time.Second)
	c.want("NOERROR 127.0.0.2 40", "www.lab.test.", dns.TypeA)
	c.holds("www 30 IN A 127.0.0.1\n")
	c.cache.Forget()
	c.want("NOERROR 127.0.0.1 30", "www.lab.test.", dns.TypeA)
}

// TestCacheKeepsDenials: NXDOMAIN is of the name, whatever the type, NODATA of the
// type alone; both hold for as long as the SOA says, not for a TTL of the name.
func TestCacheKeepsDenials(t *testing.T) {
	c := newCached(t)
	c.holds("www 30 IN TXT x\n")
	c.want("NXDOMAIN SOA 7", "gone.lab.test.", dns.TypeA)
	c.want("NOERROR SOA 7", "www.lab.test.", dns.TypeA)
	c.holds("www 30 IN A 127.0.0.1\nwww 30 IN AAAA ::1\ngone 30 IN A 127.0.0.2\ngone 30 IN AAAA ::2\n")
	c.pass(6 * time.Second)
	c.want("NXDOMAIN SOA 1", "gone.lab.test.", dns.TypeA)
	c.want("NXDOMAIN SOA 1", "gone.lab.test.", dns.TypeAAAA)
	c.want("NOERROR SOA 1", "www.lab.test.", dns.TypeA)
	c.want("NOERROR ::1 30", "www.lab.test.", dns.TypeAAAA)
	c.pass(time.Second)
	c.want("NOERROR 127.0.0.2 30", "gone.lab.test.", dns.TypeA)
	c.want("NOERROR 127.0.0.1 30", "www.lab.test.", dns.TypeA)
}

// TestCacheKeepsNoFailure asks for what is refused, for an alias that leads out of
// the zone, and for a TTL of 0.
func TestCacheKeepsNoFailure(t *testing.T) {
	c := newCached(t)
	c.holds("out 30 IN CNAME www.example.com.\nnow 0 IN A 127.0.0.1\n")
	c.want("REFUSED", "www.other.test.", dns.TypeA)
	c.want("NOERROR www.example.com. 30", "out.lab.test.", dns.TypeA)
	c.want("NOERROR 127.0.0.1 0", "now.lab.test.", dns.TypeA)
	c.holds("now 0 IN A 127.0.0.2\nout 30 IN A 127.0.0.3\n")
	c.want("NOERROR 127.0.0.2 0", "now.lab.test.", dns.TypeA)
	c.want("NOERROR 127.0.0.3 30", "out.lab.test.", dns.TypeA)
}

func TestCacheWithoutUpstream(t *testing.T) {
	cache := NewCache("127.0.0.1:1")
	if err := cache.Serve(t.Context()); err == nil {
		t.Error("it served before it listened")
	}
	if err := cache.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	serveUntilEnd(t, cache.Serve)
	c := &cached{t: t, cache: cache}
	c.want("SERVFAIL", "www.lab.test.", dns.TypeA)
	unserved := NewCache("127.0.0.1:1")
	if err := unserved.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	if err := unserved.Close(); err != nil || unserved.Addr() != "" {
		t.Errorf("%v, %q", err, unserved.Addr())
	}
}
