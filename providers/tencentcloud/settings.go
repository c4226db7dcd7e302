package tencentcloud

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi"
	"sidestep/pkg/record"
)

const (
	// signatureLife is how far a signature's time may differ from the API's clock
	// ("Signature Method v3": more than five minutes is SignatureExpire). It bounds
	// how late a request can be carried out.
	signatureLife = 5 * time.Minute

	// clockError is how far a clock that is kept in step may be off.
	clockError = 5 * time.Second

	// listLag is how long a new record may be missing from a list, as the vendor
	// says of DescribeRecordList.
	listLag = 30 * time.Second

	// callDeadline bounds one call with everything in it.
	callDeadline = 10 * time.Second

	// defaultTTL is that of a record for which nobody says one: what each plan
	// takes.
	defaultTTL = 600 * time.Second

	// freeTTL is the smallest TTL of the free plans.
	freeTTL = 600 * time.Second
)

// edition is one of the two clouds: accounts, hosts and the names of lines
// differ, the API is one.
type edition struct {
	host string
	line string // the name of the default line
}

var editions = map[string]edition{
	"china":         {"dnspod.tencentcloudapi.com", "默认"},
	"international": {"dnspod.intl.tencentcloudapi.com", "Default"},
}

// Adapter edits one zone at DNSPod. Make one with New. List may be called by
// several goroutines at once.
type Adapter struct {
	zone       record.Name
	edition    edition
	credential credential
	client     *httpapi.Client
	variants   []string // how the config spells the lines that it names
	late, lag  time.Duration
	log        *slog.Logger
	now        func() time.Time

	mu     sync.Mutex
	domain domain               // as far as it is known
	stale  map[uint64]string    // by record: a mark that was seen on a live record when no pause of ours could follow it any more
	open   map[uint64]unmarking // by record: a change that takes its mark off and whose outcome is open
	warned bool                 // that the plan raises TTLs
}

// New makes the adapter of one zone. Its options are edition (china or
// international, china when empty) and endpoint (the edition's when empty); its
// secrets are secret_id, secret_key and, for credentials that end,
// session_token. It opens no connection.
func New(s provider.Settings) (provider.Adapter, error) {
	a, err := build(s)
	if err != nil {
		return nil, err
	}
	return a, nil
}

func build(s provider.Settings) (*Adapter, error) {
	op := fmt.Sprintf("configure tencentcloud for zone %s", s.Zone)
	name := cmp.Or(s.Options["edition"], "china")
	chosen, known := editions[name]
	if !known {
		return nil, provider.Failf(provider.Permanent, op, "", "edition %q: expected china or international", name)
	}
	keys := credential{s.Secrets["secret_id"], s.Secrets["secret_key"], s.Secrets["session_token"]}
	for _, part := range []struct {
		name   string
		secret provider.Secret
		need   bool
	}{{"secret_id", keys.id, true}, {"secret_key", keys.key, true}, {"session_token", keys.token, false}} {
		if err := usable(part.secret, part.need); err != nil {
			return nil, &provider.Error{
				Class: provider.Permanent, Op: op, Err: fmt.Errorf("%s: %w", part.name, err),
				Hint: "make a key under Access Management, API Keys, and set it on the zone",
			}
		}
	}
	client, err := httpapi.New(httpapi.Options{
		Base: cmp.Or(s.Options["endpoint"], "https://"+chosen.host), Insecure: s.Insecure, Limiter: s.Limiter, Agent: s.Client,
	})
	if err != nil {
		return nil, provider.Failf(provider.Permanent, op, "", "endpoint: %w", err)
	}
	a := &Adapter{
		zone: s.Zone, edition: chosen, credential: keys, client: client, variants: slices.Clone(s.Variants),
		late: cmp.Or(s.Late, signatureLife+clockError), lag: cmp.Or(s.Lag, listLag), log: s.Logger, now: time.Now,
		stale: map[uint64]string{}, open: map[uint64]unmarking{},
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if spelled := a.spellings(line{defaultLine, chosen.line}); len(spelled) > 1 {
		return nil, provider.Failf(provider.Permanent, op, "", "the variants %q are one line; spell it in one way", spelled)
	}
	return a, nil
}

// usable refuses a secret that cannot be one, without showing it.
func usable(s provider.Secret, need bool) error {
	text := s.Reveal()
	switch {
	case text == "" && need:
		return fmt.Errorf("missing")
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("has a blank or a character that no key has")
	}
	return nil
}
