package ovh

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/libdns/libdns"
	libdnsovh "github.com/libdns/ovh"
	"github.com/ovh/go-ovh/ovh"
)

// maxLists is how often a list is begun anew because a record went away between
// its id and itself.
const maxLists = 3

// library is the module, and the publication that it leaves out when it does
// not learn what became of a change.
type library struct {
	*libdnsovh.Provider

	unpublished atomic.Bool // a change may have been made and not published
}

// GetRecords lists the zone's records, once what is listed is also published.
func (l *library) GetRecords(ctx context.Context, zone string) ([]libdns.Record, error) {
	if l.unpublished.Load() {
		if err := l.publish(ctx, zone); err != nil {
			return nil, fmt.Errorf("publish the zone after a change whose outcome is not known: %w", err)
		}
		l.unpublished.Store(false)
	}
	for try := 1; ; try++ {
		records, err := l.Provider.GetRecords(ctx, zone)
		if status(err) != http.StatusNotFound || try == maxLists {
			return records, err
		}
	}
}

// AppendRecords makes records and publishes the zone.
func (l *library) AppendRecords(ctx context.Context, zone string, records []libdns.Record) ([]libdns.Record, error) {
	made, err := l.Provider.AppendRecords(ctx, zone, records)
	if err != nil {
		l.unpublished.Store(true)
	}
	return made, err
}

// DeleteRecords deletes records and publishes the zone.
func (l *library) DeleteRecords(ctx context.Context, zone string, records []libdns.Record) ([]libdns.Record, error) {
	gone, err := l.Provider.DeleteRecords(ctx, zone, records)
	if err != nil {
		l.unpublished.Store(true)
	}
	return gone, err
}

// publish asks for what the module asks for at the end of a change.
func (l *library) publish(ctx context.Context, zone string) error {
	client, err := ovh.NewClient(l.Endpoint, l.ApplicationKey, l.ApplicationSecret, l.ConsumerKey)
	if err != nil {
		return err
	}
	path := "/domain/zone/" + url.PathEscape(strings.TrimSuffix(zone, ".")) + "/refresh"
	return client.PostWithContext(ctx, path, nil, nil)
}
