package hetzner

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/libdns/hetzner"
	"github.com/libdns/libdns"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/generic"
)

var _ provider.Constructor = New

// New makes the adapter of one zone. Its secret is api_token. It opens no
// connection.
func New(s provider.Settings) (provider.Adapter, error) {
	token := s.Secrets["api_token"]
	if token.Empty() {
		return nil, provider.Failf(provider.Permanent, fmt.Sprintf("configure hetzner for zone %s", s.Zone), "", "api_token: expected a token of the DNS Console, got nothing")
	}
	l := library{hetzner.New(token.Reveal()), hetzner.NewClient(token.Reveal())}
	return generic.New(s, l, generic.Known{Name: "hetzner", MinTTL: time.Minute, Status: generic.StatusIn(refusal), Settled: true}), nil
}

// library is the module with a listing and a deletion of our own.
type library struct {
	*hetzner.Provider

	client *hetzner.Client
}

// GetRecords lists the zone's records as the API has them, with their ids. The
// module's client takes the first zone of an answer that may have none.
func (l library) GetRecords(ctx context.Context, zone string) (_ []libdns.Record, err error) {
	name := strings.TrimSuffix(zone, ".")
	defer func() {
		if recover() != nil {
			err = &provider.Error{
				Class: provider.Retryable, Op: "list zone " + zone + " by hetzner", Code: "no zone", Err: fmt.Errorf("the API knows no zone %s of this credential", name),
				Hint: "see whether the zone is in the DNS Console of that account, and was not moved to the Cloud Console; then: sidestep validate --online",
			}
		}
	}()
	records, err := l.client.GetAllRecords(ctx, name)
	if err != nil {
		return nil, err
	}
	list := make([]libdns.Record, len(records))
	for i := range records {
		list[i] = &records[i]
	}
	return list, nil
}

// DeleteRecords deletes listed records by their ids.
func (l library) DeleteRecords(ctx context.Context, _ string, records []libdns.Record) ([]libdns.Record, error) {
	for _, r := range records {
		listed, ok := r.(*hetzner.Record)
		if !ok || listed.ID == "" {
			return nil, fmt.Errorf("delete %s %s: expected a record of the list, got a %T without an id", r.RR().Name, r.RR().Type, r)
		}
		if err := l.client.DeleteRecord(ctx, listed.ID); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// refusal is how the module's errors end: "Unauthorized (401)".
var refusal = regexp.MustCompile(`\(([1-5][0-9]{2})\)$`)
