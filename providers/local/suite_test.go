package local

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
)

const (
	zone = record.Name("example.com.")

	soaAndNS = `$TTL 300
@ IN SOA ns hostmaster 7 3600 600 86400 60
@ IN NS ns.example.net.
`
)

// hand edits the file as an operator's editor does, in place and without the
// lock, and reads it with another parser than the adapter.
type hand struct {
	t    providertest.TB
	path string
}

func TestConformance(t *testing.T) {
	providertest.Run(t, providertest.World{
		Zone: zone,
		New: func(t providertest.TB) (provider.Adapter, providertest.Hand) {
			h := hand{t, filepath.Join(t.TempDir(), "zone")}
			h.write(soaAndNS)
			return h.Another(), h
		},
	})
}

func (h hand) write(text string) {
	h.t.Helper()
	if err := os.WriteFile(h.path, []byte(text), 0o640); err != nil {
		h.t.Fatalf("write the zone file: %v", err)
	}
}

func (h hand) read() string {
	h.t.Helper()
	text, err := os.ReadFile(h.path)
	if err != nil {
		h.t.Fatalf("read the zone file: %v", err)
	}
	return string(text)
}

func (h hand) records() []dns.RR {
	h.t.Helper()
	parser := dns.NewZoneParser(strings.NewReader(h.read()), string(zone), h.path)
	var rrs []dns.RR
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		rrs = append(rrs, rr)
	}
	if err := parser.Err(); err != nil {
		h.t.Fatalf("parse the zone file: %v", err)
	}
	return rrs
}

func (h hand) Live(key record.Key) []string {
	h.t.Helper()
	var values []string
	for _, rr := range h.Dump() {
		if rr.Name == string(key.Name) && rr.Type == string(key.Type) {
			values = append(values, strings.ToLower(rr.Data))
		}
	}
	slices.Sort(values)
	return values
}

func (h hand) Put(rr providertest.RR) {
	h.t.Helper()
	h.write(h.read() + rr.String() + "\n")
}

func (h hand) Remove(rr providertest.RR) {
	h.t.Helper()
	var kept []string
	for line := range strings.Lines(h.read()) {
		if got, err := dns.NewRR("$TTL 1\n" + line); err == nil && got != nil && same(asRR(got), rr) {
			continue
		}
		kept = append(kept, line)
	}
	h.write(strings.Join(kept, ""))
}

func same(a, b providertest.RR) bool {
	return a.Name == strings.ToLower(b.Name) && a.Type == b.Type && a.Data == b.Data
}

func (h hand) Dump() []providertest.RR {
	h.t.Helper()
	var dump []providertest.RR
	for _, rr := range h.records() {
		dump = append(dump, asRR(rr))
	}
	return dump
}

func asRR(rr dns.RR) providertest.RR {
	return providertest.RR{
		Name: dns.CanonicalName(rr.Header().Name),
		Type: dns.Type(rr.Header().Rrtype).String(),
		TTL:  time.Duration(rr.Header().Ttl) * time.Second,
		Data: strings.TrimPrefix(rr.String(), rr.Header().String()),
	}
}

func (h hand) Another() provider.Adapter {
	h.t.Helper()
	a, err := New(provider.Settings{Zone: zone, Options: map[string]string{"file": h.path}})
	if err != nil {
		h.t.Fatalf("make an adapter: %v", err)
	}
	return a
}

func (h hand) String() string { return fmt.Sprintf("the file %s", h.path) }
