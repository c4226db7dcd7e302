package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/miekg/dns"
)

// askWithin is how long a cache waits for its upstream.
const askWithin = 2 * time.Second

// Cache is a caching resolver with one upstream, an authoritative server: what it
// was told it tells on for as long as the TTL allows, and counts that down. That a
// name or a type does not exist it keeps as well, for as long as the SOA says (RFC
// 2308 section 5). What went wrong it does not keep.
//
// It is as strict as a resolver can be: it never keeps anything longer than it may,
// fetches nothing ahead, and serves nothing stale. Many in the world are less so.
// Its methods may be called by any number of goroutines at once.
type Cache struct {
	upstream string
	now      func() time.Time

	mu      sync.Mutex // guards what follows
	kept    map[asked]kept
	udp     net.PacketConn
	tcp     net.Listener
	serving bool
}

// asked is what an answer is kept under: a question, and for a name that does not
// exist the name with no type.
type asked struct {
	name string
	kind uint16
}

type kept struct {
	reply *dns.Msg
	since time.Time
	ttl   time.Duration
}

// NewCache makes a cache of what the server at an address, ADDRESS:PORT, says.
func NewCache(upstream string) *Cache {
	return &Cache{upstream: upstream, now: time.Now, kept: map[asked]kept{}}
}

// Listen binds an address for UDP and TCP. Port 0 takes one that is free for both.
// Questions wait until Serve.
func (c *Cache) Listen(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen for the cache on %q: expected ADDRESS:PORT: %w", addr, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tcp != nil {
		return fmt.Errorf("listen for the cache on %s: already listening on %s", addr, c.tcp.Addr())
	}
	for range attempts {
		if err = c.bind(host, port); err == nil {
			return nil
		}
		if port != "0" || !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return fmt.Errorf("listen for the cache on %s: %w", addr, err)
}

func (c *Cache) bind(host, port string) error {
	tcp, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return err
	}
	udp, err := net.ListenPacket("udp", net.JoinHostPort(host, strconv.Itoa(tcp.Addr().(*net.TCPAddr).Port)))
	if err != nil {
		return errors.Join(err, tcp.Close())
	}
	c.tcp, c.udp = tcp, udp
	return nil
}

// Addr is the address that the cache listens on; empty before Listen.
func (c *Cache) Addr() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tcp == nil {
		return ""
	}
	return c.tcp.Addr().String()
}

// Close gives up the sockets of a cache that listens and was never served.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tcp == nil || c.serving {
		return nil
	}
	err := errors.Join(c.tcp.Close(), c.udp.Close())
	c.tcp, c.udp = nil, nil
	return err
}

// Serve answers until the context ends or a socket fails; nil when it was the
// context. It is called once, after Listen.
func (c *Cache) Serve(ctx context.Context) error {
	c.mu.Lock()
	udp, tcp, served := c.udp, c.tcp, c.serving
	c.serving = c.tcp != nil
	c.mu.Unlock()
	if tcp == nil || served {
		return errors.New("serve the cache: call Listen first, and Serve once")
	}
	handler := dns.HandlerFunc(c.serve)
	servers := []*dns.Server{{PacketConn: udp, Handler: handler}, {Listener: tcp, Handler: handler}}
	closeAll := func() {
		for _, server := range servers {
			_ = server.Shutdown() // the error is that it has not begun, or has ended
		}
		_, _ = udp.Close(), tcp.Close() // which ends it in both cases
	}
	stop := context.AfterFunc(ctx, closeAll)
	defer stop()
	failed := make(chan error, len(servers))
	for _, server := range servers {
		go func() {
			failed <- server.ActivateAndServe()
			closeAll()
		}()
	}
	err := errors.Join(<-failed, <-failed)
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("serve the cache on %s: socket closed: %w", tcp.Addr(), err)
}

// Forget empties the cache, as a restart does.
func (c *Cache) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.kept)
}

// serve answers one question; the library calls it from many goroutines.
func (c *Cache) serve(w dns.ResponseWriter, request *dns.Msg) {
	reply := new(dns.Msg)
	if request.Opcode != dns.OpcodeQuery || len(request.Question) != 1 {
		reply.SetRcode(request, dns.RcodeNotImplemented)
	} else if found, err := c.find(request.Question[0]); err != nil {
		reply.SetRcode(request, dns.RcodeServerFailure)
	} else {
		reply.SetRcode(request, found.Rcode)
		reply.Answer, reply.Ns = found.Answer, found.Ns
	}
	reply.RecursionAvailable = true
	room := dns.MinMsgSize
	if opt := request.IsEdns0(); opt != nil {
		reply.SetEdns0(opt.UDPSize(), false)
		room = max(room, int(opt.UDPSize()))
	}
	if _, udp := w.LocalAddr().(*net.UDPAddr); udp {
		reply.Truncate(room)
	}
	if err := w.WriteMsg(reply); err != nil {
		_ = w.Close() // half a message may have left, and the client asks again
	}
}

// find is what is kept of a question, with its time counted down, or what the
// upstream says now.
func (c *Cache) find(q dns.Question) (*dns.Msg, error) {
	name := dns.CanonicalName(q.Name)
	if reply := c.recall(asked{name, q.Qtype}, asked{name, dns.TypeNone}); reply != nil {
		return reply, nil
	}
	reply, err := ask(c.upstream, q)
	if err != nil {
		return nil, err
	}
	key := asked{name, q.Qtype}
	if reply.Rcode == dns.RcodeNameError {
		key.kind = dns.TypeNone // of no type is there anything
	}
	if ttl, may := lifetime(reply); may {
		c.mu.Lock()
		c.kept[key] = kept{reply: reply.Copy(), since: c.now(), ttl: ttl}
		c.mu.Unlock()
	}
	return reply, nil
}

func ask(upstream string, q dns.Question) (*dns.Msg, error) {
	question := &dns.Msg{MsgHdr: dns.MsgHdr{Id: dns.Id()}, Question: []dns.Question{q}}
	var reply *dns.Msg
	for _, network := range []string{"udp", "tcp"} {
		client := &dns.Client{Net: network, Timeout: askWithin}
		var err error
		if reply, _, err = client.Exchange(question, upstream); err != nil {
			return nil, fmt.Errorf("ask %s over %s: %w", upstream, network, err)
		}
		if !reply.Truncated {
			break
		}
	}
	return reply, nil
}

// recall is the first answer that is kept under one of these and not over.
func (c *Cache) recall(keys ...asked) *dns.Msg {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		k, is := c.kept[key]
		if !is {
			continue
		}
		age := c.now().Sub(k.since)
		if age >= k.ttl {
			delete(c.kept, key)
			continue
		}
		reply := k.reply.Copy()
		for _, rr := range append(append([]dns.RR{}, reply.Answer...), reply.Ns...) {
			rr.Header().Ttl -= min(rr.Header().Ttl, uint32(age/time.Second))
		}
		return reply
	}
	return nil
}

// lifetime is how long an answer may be kept, and whether it may at all: a denial
// without its SOA may not (RFC 2308 section 5), nor may any other refusal.
func lifetime(reply *dns.Msg) (ttl time.Duration, may bool) {
	denied := reply.Rcode == dns.RcodeNameError || reply.Rcode == dns.RcodeSuccess && !hasValue(reply)
	lowest := uint32(0)
	take := func(n uint32) {
		if n > math.MaxInt32 {
			n = 0 // RFC 2181 section 8
		}
		if !may || n < lowest {
			lowest, may = n, true
		}
	}
	for _, rr := range reply.Ns {
		if soa, is := rr.(*dns.SOA); is && denied {
			take(min(soa.Hdr.Ttl, soa.Minttl))
		}
	}
	if denied && !may || !denied && reply.Rcode != dns.RcodeSuccess {
		return 0, false
	}
	for _, rr := range reply.Answer {
		take(rr.Header().Ttl)
	}
	return time.Duration(lowest) * time.Second, lowest > 0
}

// hasValue reports whether a reply holds what was asked for, and not only the
// aliases on the way.
func hasValue(reply *dns.Msg) bool {
	for _, rr := range reply.Answer {
		if kind := reply.Question[0].Qtype; rr.Header().Rrtype == kind || kind == dns.TypeANY {
			return true
		}
	}
	return false
}
