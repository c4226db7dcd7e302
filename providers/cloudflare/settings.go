package cloudflare

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi"
	"sidestep/pkg/record"
)

const (
	// endpoint is the vendor's API.
	endpoint = "https://api.cloudflare.com/client/v4"

	// minTTL is the smallest TTL outside Enterprise zones, maxTTL the largest of
	// all ("DNS records" in the API's documentation).
	minTTL = 60 * time.Second
	maxTTL = 86400 * time.Second

	// automatic is the TTL that leaves it to Cloudflare, which then answers with
	// autoTTL ("Time to Live (TTL)" in its documentation).
	automatic = 1
	autoTTL   = 300 * time.Second

	// late is assumed: the API documents no time after which a request that was
	// given up cannot take effect any more.
	late = time.Minute

	// lag is assumed: lists are read from where writes go, as far as anybody has
	// seen, which no document promises.
	lag = time.Second

	// callDeadline bounds one call, the look for the reason of a refusal in it.
	callDeadline = 15 * time.Second

	// publish is how long an accepted change takes to the name servers, as the
	// vendor says of almost all.
	publish = 5 * time.Second

	// block is how long the API refuses everything once its limit was passed
	// ("Rate limits": 1,200 requests in five minutes).
	block = 5 * time.Minute

	// batchLimit is the number of changes that one batch may have in a Free zone,
	// the smallest of all plans ("Batch record changes").
	batchLimit = 200

	// maxChanges is how many changes one call may have: of each two actions at
	// most, a rename and the end of an equal copy, so that a batch has room for
	// them, for the stamp and for some survivors.
	maxChanges = 90

	// stampTTL is that of the stamp, and of copies, which nobody asks a resolver for.
	stampTTL = 60
)

// Adapter edits one zone. Make one with New. List may be called by several
// goroutines at once.
type Adapter struct {
	zone    record.Name
	client  *httpapi.Client
	limiter *provider.Limiter
	token   provider.Secret
	finder  provider.Secret // may find the zone, where token may not
	zoneID  string          // as configured; empty looks the zone up
	late    time.Duration
	lag     time.Duration
	log     *slog.Logger

	found    atomic.Pointer[string] // the zone's id, once it was looked up
	unfenced atomic.Bool            // Prove found that nothing is compared

	mu   sync.Mutex
	last *written // the last accepted write
}

var idText = regexp.MustCompile(`^[0-9a-f]{32}$`)

// New makes the adapter of one zone. Its secrets are api_token, which may edit
// DNS records of the zone, and zone_token, which may read zones where the first
// may not; its options are zone_id, with which nothing has to be looked up, and
// endpoint, everything before "/zones" in the API's URLs. It opens no connection.
func New(s provider.Settings) (provider.Adapter, error) {
	a, err := build(s)
	if err != nil {
		return nil, err
	}
	return a, nil
}

func build(s provider.Settings) (*Adapter, error) {
	op := fmt.Sprintf("configure cloudflare for zone %s", s.Zone)
	token := s.Secrets["api_token"]
	if token.Empty() {
		failed := provider.Failf(provider.Permanent, op, "", "api_token: expected an API token, got nothing")
		failed.Hint = "make one in the dashboard under My Profile, API Tokens, with the permissions Zone:Read and DNS:Edit for this zone"
		return nil, failed
	}
	for name, secret := range map[string]provider.Secret{"api_token": token, "zone_token": s.Secrets["zone_token"]} {
		if strings.ContainsFunc(secret.Reveal(), func(c rune) bool { return c <= ' ' || c > '~' }) {
			failed := provider.Failf(provider.Permanent, op, "", "%s: there is a blank, a line end or a character in it that no token has", name)
			failed.Hint = "copy the token again, without what stands around it"
			return nil, failed
		}
	}
	id := s.Options["zone_id"]
	if id != "" && !idText.MatchString(id) {
		failed := provider.Failf(provider.Permanent, op, "", "zone_id %q: expected 32 hexadecimal digits", id)
		failed.Hint = "copy it from the zone's overview in the dashboard, or leave it out"
		return nil, failed
	}
	client, err := httpapi.New(httpapi.Options{
		Base: cmp.Or(s.Options["endpoint"], endpoint), Insecure: s.Insecure, Limiter: s.Limiter, Agent: s.Client,
	})
	if err != nil {
		return nil, provider.Failf(provider.Permanent, op, "", "%w", err)
	}
	a := &Adapter{
		zone: s.Zone, client: client, limiter: s.Limiter, token: token, finder: token, zoneID: id,
		late: cmp.Or(s.Late, late), lag: cmp.Or(s.Lag, lag), log: s.Logger,
	}
	if finder := s.Secrets["zone_token"]; !finder.Empty() {
		a.finder = finder
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	return a, nil
}

// sign puts a token into a request.
func sign(token provider.Secret) func(*http.Request) error {
	return func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token.Reveal())
		return nil
	}
}
