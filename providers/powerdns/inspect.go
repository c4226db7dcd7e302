package powerdns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi"
)

// Inspect asks for the server's version and the zone's settings. There are no
// rights below the key itself: who may read may write.
func (a *Adapter) Inspect(ctx context.Context) ([]string, error) {
	server, err := a.inspectServer(ctx)
	if err != nil {
		return nil, err
	}
	op := fmt.Sprintf("inspect zone %s", a.zone)
	none := func(rrset) {}
	h, err := a.get(ctx, op, url.Values{"rrsets": {"false"}}, none, func(rrset, error) {})
	if err != nil {
		return server, err
	}
	lines := append(server, fmt.Sprintf("zone %s: kind %s, serial %d, DNSSEC %s", a.zone, h.Kind, h.Serial, word(h.DNSSEC)))
	if h.copied() {
		return lines, a.isCopy(op, h)
	}
	return append(lines, a.warnings(h)...), nil
}

func word(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// warnings are about settings of the zone that let a write go wrong elsewhere.
func (a *Adapter) warnings(h head) []string {
	var lines []string
	zone := a.zone.Unrooted()
	if h.DNSSEC && !h.APIRectify {
		lines = append(lines, "warning: the zone is signed and API-RECTIFY is off, so that denials of existence can be wrong after a write: pdnsutil set-meta "+zone+" API-RECTIFY 1")
	}
	if transferred := !strings.EqualFold(h.Kind, "native"); transferred && h.SOAEditAPI == "" {
		lines = append(lines, "warning: a write through the API leaves the serial as it is, so that secondaries do not learn of it: pdnsutil set-meta "+zone+" SOA-EDIT-API DEFAULT")
	}
	return lines
}

func (a *Adapter) inspectServer(ctx context.Context) ([]string, error) {
	op := fmt.Sprintf("inspect server %s", a.server)
	reply, err := a.api.Do(ctx, httpapi.Request{Op: op, Method: http.MethodGet, Path: a.serverPath(), Sign: a.sign})
	if err != nil {
		return nil, a.explained(err)
	}
	if reply.Status != http.StatusOK {
		err := a.refusal(op, false, reply)
		var failed *provider.Error
		if errors.As(err, &failed) && reply.Status == http.StatusNotFound {
			failed.Hint = "correct endpoint and server_id of the zone: PowerDNS' API is below /api/v1 of its web server, and its server is called localhost"
		}
		return nil, err
	}
	var server struct {
		Daemon  string `json:"daemon_type"`
		Version string `json:"version"`
	}
	if err := json.Unmarshal(reply.Body, &server); err != nil {
		return nil, httpapi.Unreadable(op, false, reply.Status, err)
	}
	if server.Daemon != "authoritative" {
		failed := provider.Failf(provider.Permanent, op, "", "expected the PowerDNS Authoritative Server, got daemon type %q", server.Daemon)
		failed.Hint = "correct endpoint: the recursor has an API like it"
		return nil, failed
	}
	return []string{fmt.Sprintf("PowerDNS Authoritative Server %s, server %s", server.Version, a.server)}, nil
}
