package rfc2136

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"go.uber.org/goleak"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
	"sidestep/providers/rfc2136/rfc2136test"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testZone = "example.com."
	bareZone = "$TTL 300\n@ IN SOA ns1.example.net. admin.example.net. 7 3600 600 86400 60\n@ IN NS ns1.example.net.\n"
)

// servers are the real programs that everything here is tried on.
var servers = map[string]func(testing.TB, rfc2136test.Zone) *rfc2136test.Server{
	"bind": rfc2136test.StartBIND,
	"knot": rfc2136test.StartKnot, "powerdns": rfc2136test.StartPowerDNS,
}

// onEach runs a test against each kind of server with a zone.
func onEach(t *testing.T, zone rfc2136test.Zone, run func(*testing.T, *rfc2136test.Server)) {
	t.Helper()
	if zone.Name == "" {
		zone.Name = testZone
	}
	if zone.Text == "" {
		zone.Text = bareZone
	}
	for _, name := range []string{"bind", "knot", "powerdns"} {
		t.Run(name, func(t *testing.T) { run(t, servers[name](t, zone)) })
	}
}

// isPowerDNS reports whether onEach runs a test with PowerDNS.
func isPowerDNS(t *testing.T) bool {
	t.Helper()
	return strings.HasSuffix(t.Name(), "/powerdns")
}

// settings are those of a server's adapter.
func settings(s *rfc2136test.Server) provider.Settings {
	return provider.Settings{
		Zone:    record.Name(s.Zone),
		Options: map[string]string{"server": s.Addr, "tsig.name": s.Key.Name, "tsig.algorithm": s.Key.Algorithm},
		Secrets: map[string]provider.Secret{"tsig.secret": provider.NewSecret(s.Key.Secret)},
	}
}

func connect(t providertest.TB, s *rfc2136test.Server) *Adapter {
	t.Helper()
	return connectTo(t, s, s.Addr)
}

func connectTo(t providertest.TB, s *rfc2136test.Server, addr string) *Adapter {
	t.Helper()
	options := settings(s)
	options.Options["server"] = addr
	a, err := build(options)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return a
}

// hand edits the zone as an operator does with nsupdate, and reads it with dig.
type hand struct {
	t      providertest.TB
	server *rfc2136test.Server
	proxy  *rfc2136test.Proxy
}

func (h *hand) Live(key record.Key) []string {
	h.t.Helper()
	var values []string
	for _, line := range h.server.Short(string(key.Name), string(key.Type)) {
		value, err := record.ParseValue(key.Type, line)
		if err != nil {
			continue // the CNAME that dig shows before its target's addresses
		}
		values = append(values, value)
	}
	slices.Sort(values)
	return values
}

func (h *hand) Put(rr providertest.RR) {
	h.t.Helper()
	m := new(dns.Msg)
	m.SetUpdate(h.server.Zone)
	m.Insert([]dns.RR{h.parse(rr)})
	h.update(m)
}

func (h *hand) Remove(rr providertest.RR) {
	h.t.Helper()
	m := new(dns.Msg)
	m.SetUpdate(h.server.Zone)
	m.Remove([]dns.RR{h.parse(rr)})
	h.update(m)
}

func (h *hand) parse(rr providertest.RR) dns.RR {
	h.t.Helper()
	parsed, err := dns.NewRR(fmt.Sprintf("%s %d IN %s %s", rr.Name, int(rr.TTL/time.Second), rr.Type, rr.Data))
	if err != nil {
		h.t.Fatalf("%v: %v", rr, err)
	}
	return parsed
}

func (h *hand) update(m *dns.Msg) {
	h.t.Helper()
	key := h.server.Key
	m.SetTsig(key.Name, dns.Fqdn(key.Algorithm), 300, time.Now().Unix())
	client := dns.Client{Net: "tcp", TsigSecret: map[string]string{key.Name: key.Secret}, Timeout: time.Minute}
	reply, _, err := client.ExchangeContext(h.t.Context(), m, h.server.Addr)
	if err != nil || reply.Rcode != dns.RcodeSuccess {
		h.t.Fatalf("update by hand: %v, %v\n%v\n%s", err, reply, m, h.server.Log())
	}
}

func (h *hand) Dump() []providertest.RR {
	h.t.Helper()
	var rrs []providertest.RR
	for _, line := range h.server.Dig("+noall", "+answer", "+onesoa", h.server.Zone, "AXFR") {
		fields := strings.Fields(line)
		if len(fields) < 4 || strings.HasPrefix(line, ";") {
			continue
		}
		ttl, err := strconv.Atoi(fields[1])
		if err != nil {
			h.t.Fatalf("dump: %q: %v", line, err)
		}
		// What follows the type is kept with its blanks: it may be a text.
		_, data, _ := strings.Cut(line, fields[3])
		rrs = append(rrs, providertest.RR{
			Name: strings.ToLower(fields[0]), Type: fields[3], TTL: time.Duration(ttl) * time.Second, Data: strings.TrimSpace(data),
		})
	}
	return rrs
}

func (h *hand) Another() provider.Adapter { return connect(h.t, h.server) }

var faults = map[providertest.Fault]rfc2136test.Fault{
	providertest.CutList:     rfc2136test.CutTransfer,
	providertest.EmptyList:   rfc2136test.EmptyTransfer,
	providertest.HangRead:    rfc2136test.HangTransfer,
	providertest.HangWrite:   rfc2136test.HangUpdate,
	providertest.LostReply:   rfc2136test.LostReply,
	providertest.LostRequest: rfc2136test.LostRequest,
}

func (h *hand) Fault(f providertest.Fault) bool {
	fault, found := faults[f]
	if found {
		h.proxy.Fault(fault)
	}
	return found
}

// empty takes everything out of the zone but what the server needs.
func (h *hand) empty() {
	h.t.Helper()
	m := new(dns.Msg)
	m.SetUpdate(h.server.Zone)
	for _, rr := range h.Dump() {
		if rr.Type == "SOA" || rr.Name == testZone && rr.Type == "NS" {
			continue
		}
		m.Remove([]dns.RR{h.parse(rr)})
	}
	if len(m.Ns) > 0 {
		h.update(m)
	}
}

func TestConformance(t *testing.T) {
	onEach(t, rfc2136test.Zone{}, func(t *testing.T, server *rfc2136test.Server) {
		t.Parallel() // most of it is waiting for dig
		proxy := rfc2136test.StartProxy(t, server)
		var refused []string
		if isPowerDNS(t) {
			refused = []string{"TYPE65280"} // its DNSUPDATE takes no type that it does not know
		}
		providertest.Run(t, providertest.World{
			Zone: testZone, NoTypes: refused,
			New: func(t providertest.TB) (provider.Adapter, providertest.Hand) {
				h := &hand{t: t, server: server, proxy: proxy}
				h.empty()
				return connectTo(t, server, proxy.Addr), h
			},
		})
	})
}
