package powerdns

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi"
	"sidestep/pkg/record"
)

const (
	// defaultEndpoint is where PowerDNS' web server listens when nothing else is
	// configured: webserver-address and webserver-port of pdns.conf.
	defaultEndpoint = "http://127.0.0.1:8081"

	// callDeadline bounds one call: the reading of the zone and the PATCH.
	callDeadline = 30 * time.Second

	// late is assumed: a PATCH has neither a signature nor a time in it that would
	// bound how late the server may carry it out.
	late = time.Minute

	// listLimit is the largest zone that is read: 5 million records or so.
	listLimit = 1 << 30
)

// Adapter edits one zone through the HTTP API. Make one with New. List may be
// called by several goroutines at once.
type Adapter struct {
	zone   record.Name
	server string // id of the server, in URLs
	api    *httpapi.Client
	key    provider.Secret
	late   time.Duration
	lag    time.Duration
	now    func() time.Time

	mu   sync.Mutex
	used pauses // as the lists so far tell; replaced, never changed
}

// New makes the adapter of one zone. Its options are endpoint (base URL of the web
// server, with or without /api/v1; port 8081 of this host when empty) and server_id
// (localhost when empty); its secret is api_key. It opens no connection.
func New(s provider.Settings) (provider.Adapter, error) {
	a, err := build(s)
	if err != nil {
		return nil, err
	}
	return a, nil
}

func build(s provider.Settings) (*Adapter, error) {
	op := fmt.Sprintf("configure powerdns for zone %s", s.Zone)
	if s.Secrets["api_key"].Empty() {
		failed := provider.Failf(provider.Permanent, op, "", "api_key: expected the key of the HTTP API, got nothing")
		failed.Hint = "set api_key to the api-key of pdns.conf, as a file or a variable of the environment"
		return nil, failed
	}
	endpoint := strings.TrimSuffix(strings.TrimSuffix(cmp.Or(s.Options["endpoint"], defaultEndpoint), "/"), "/api/v1")
	api, err := httpapi.New(httpapi.Options{Base: endpoint, Insecure: s.Insecure, Limiter: s.Limiter, Agent: s.Client})
	if err != nil {
		return nil, provider.Failf(provider.Permanent, op, "", "%w", err)
	}
	return &Adapter{
		zone: s.Zone, server: cmp.Or(s.Options["server_id"], "localhost"), api: api, key: s.Secrets["api_key"],
		late: cmp.Or(s.Late, late), lag: s.Lag, now: time.Now,
	}, nil
}

// sign adds the key, last.
func (a *Adapter) sign(r *http.Request) error {
	r.Header.Set("X-Api-Key", a.key.Reveal())
	r.Header.Set("Accept", "application/json")
	return nil
}

func (a *Adapter) serverPath() string { return "/api/v1/servers/" + url.PathEscape(a.server) }

// zonePath is the zone's resource. Its id is the name with its final dot, what is
// no letter, digit, dot, hyphen or underscore spelled =XX (PowerDNS manual, "HTTP API: Zones").
func (a *Adapter) zonePath() string {
	var id strings.Builder
	for _, c := range []byte(a.zone) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("._-", c) >= 0 {
			id.WriteByte(c)
		} else {
			fmt.Fprintf(&id, "=%02X", c)
		}
	}
	return a.serverPath() + "/zones/" + id.String()
}
