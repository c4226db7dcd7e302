package probe

import (
	"fmt"
	"io"
	"net"
	"testing"

	"sidestep/pkg/resolve/resolvetest"
)

// A check's URL holds the very name that is steered:
//
//	www.example.com A [primary, standby], check http://www.example.com/healthz,
//	the primary dead
//
// The probe of an address goes to that address and asks no resolver, so the
// primary stays dead, whatever the name answers with now.
func TestCase15AddressesNeverAskForTheHostOfTheURL(t *testing.T) {
	port := reserve(t, "127.0.0.1", "127.0.0.2")
	standby := serve(t, fmt.Sprintf("127.0.0.2:%d", port), func(conn net.Conn) {
		readRequest(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	})
	s := resolvetest.Start(t, "www.example.com. 60 A 127.0.0.2")
	p := named(s, "www.example.com.")
	spec := httpSpec(standby.port())
	for range 3 {
		expect(t, p.Probe(t.Context(), spec, "127.0.0.1"), "fail connect/refused")
		expect(t, p.Probe(t.Context(), spec, "127.0.0.2"), "pass")
	}
	if asked := s.Asked(); len(asked) > 0 {
		t.Errorf("the resolver was asked %q", asked)
	}
}

// A CNAME's target resolves through a name that is steered, too:
//
//	app.example.org CNAME [edge.example.net, …], edge.example.net CNAME www.example.com,
//	www.example.com steered
//
// Its probe would follow our own writes: it is unknown and names both.
func TestCase15ChainThroughASteeredNameIsUnknown(t *testing.T) {
	backend := serve(t, "127.0.0.1:0", func(net.Conn) {})
	spec := tcpSpec(backend.port())
	s := resolvetest.Start(t,
		"edge.example.net. 60 CNAME www.example.com.",
		"far.example.net. 60 CNAME a.pool.example.com.",
		"dead.example.net. 60 CNAME gone.example.com.",
		"www.example.com. 60 A 127.0.0.1",
		"a.pool.example.com. 60 A 127.0.0.1")
	p := named(s, "www.example.com.", "gone.example.com.", "*.pool.example.com.")
	const why = "which sidestep steers: the check would follow its own writes; add probe: ADDRESS to the answer"
	for name, detail := range map[string]string{
		"edge.example.net.":   "edge.example.net. resolves through www.example.com., " + why,
		"dead.example.net.":   "dead.example.net. resolves through gone.example.com., " + why,
		"far.example.net.":    "far.example.net. resolves through a.pool.example.com., covered by *.pool.example.com., " + why,
		"www.example.com.":    "www.example.com., " + why,
		"x.pool.example.com.": "x.pool.example.com., covered by *.pool.example.com., " + why,
	} {
		expect(t, p.Probe(t.Context(), spec, name), "unknown resolve/local", detail)
	}
	if n := backend.accepted.Load(); n != 0 {
		t.Errorf("%d connections were made, want none", n)
	}
}
