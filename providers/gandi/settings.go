package gandi

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/libdns/gandi"
	"github.com/libdns/libdns"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/generic"
)

var _ provider.Constructor = New

// minTTL is the smallest TTL that LiveDNS takes.
const minTTL = 5 * time.Minute

// New makes the adapter of one zone. Its secret is api_token, a personal access
// token. It opens no connection.
func New(s provider.Settings) (provider.Adapter, error) {
	token := s.Secrets["api_token"]
	if token.Empty() {
		return nil, provider.Failf(provider.Permanent, fmt.Sprintf("configure gandi for zone %s", s.Zone), "", "api_token: expected a personal access token, got nothing")
	}
	l := library{&gandi.Provider{BearerToken: token.Reveal()}}
	return generic.New(s, l, generic.Known{Name: "gandi", Quoted: true, OneTTL: true, MinTTL: minTTL, Status: generic.StatusIn(refusal), Settled: true}), nil
}

// library is the module, with the deletion of a TXT spelled as it wants it.
type library struct{ *gandi.Provider }

// DeleteRecords deletes listed records.
func (l library) DeleteRecords(ctx context.Context, zone string, records []libdns.Record) ([]libdns.Record, error) {
	for _, r := range records {
		named, err := l.named(ctx, zone, r.RR())
		if err != nil {
			return nil, err
		}
		if _, err := l.Provider.DeleteRecords(ctx, zone, []libdns.Record{named}); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// named is a record as the module has to be told of it: the only TXT of a set
// without its quotes.
func (l library) named(ctx context.Context, zone string, rr libdns.RR) (libdns.RR, error) {
	if rr.Type != "TXT" {
		return rr, nil
	}
	listed, err := l.GetRecords(ctx, zone)
	if err != nil {
		return rr, err
	}
	members := 0
	for _, other := range listed {
		if o := other.RR(); o.Name == rr.Name && o.Type == rr.Type {
			members++
		}
	}
	if members == 1 {
		rr.Data = strings.Trim(rr.Data, `"`)
	}
	return rr, nil
}

// refusal is how the module's errors begin: "LiveDNS returned a 401 (…)".
var refusal = regexp.MustCompile(`^LiveDNS returned a ([1-5][0-9]{2}) `)
