package cloudflaretest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sidestep/pkg/provider/httpapi/httpfake"
)

// TB is what a fake needs of a test: both *testing.T and the suite's own kind
// have it.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Options say what the fake is like. The zero value is a Free zone example.com
// and a token that may do everything with it.
type Options struct {
	Zone      string // "example.com." when empty
	Token     string // may edit the zone; a fixed text when empty
	ZoneToken string // may read zones and nothing else; where it is set, Token may not find the zone
	Plan      Plan
	Quota     int  // records that the zone may have; 0 sets no limit
	Forgiving bool // an emulator that takes no notice of ids that are not there
}

// Plan is what a zone's plan allows.
type Plan struct {
	Name    string
	Batch   int // changes of one batch
	MinTTL  int // seconds
	Comment int // characters of a comment
	Tags    int // tags of a record
}

// The plans that differ in what a DNS client meets.
var (
	Free       = Plan{"Free Website", 200, 60, 100, 0}
	Pro        = Plan{"Pro Website", 3500, 60, 500, 20}
	Enterprise = Plan{"Enterprise Website", 3500, 30, 500, 20}
)

// DefaultToken is the token of a fake whose options name none.
const DefaultToken = "fake-token-that-may-edit-dns"

// Fake is a running fake. Its methods may be called from any goroutine.
type Fake struct {
	Server *httpfake.Server

	mu      sync.Mutex
	tokens  map[string]*Token
	zones   []*zone
	ids     int
	changes int
	history []string
}

// Token is what a credential may do.
type Token struct {
	Status    string // "active", "disabled" or "expired"
	ExpiresOn string // RFC 3339; empty for never
	ReadZones bool
	ReadDNS   bool
	EditDNS   bool
	Account   bool // it belongs to an account: the user's verify does not know it
}

// Start runs a fake until the test ends.
func Start(tb TB, o Options) *Fake {
	tb.Helper()
	if o.Zone == "" {
		o.Zone = "example.com."
	}
	if o.Token == "" {
		o.Token = DefaultToken
	}
	if o.Plan == (Plan{}) {
		o.Plan = Free
	}
	f := &Fake{tokens: map[string]*Token{
		o.Token: {Status: "active", ReadZones: o.ZoneToken == "", ReadDNS: true, EditDNS: true},
	}}
	if o.ZoneToken != "" {
		f.tokens[o.ZoneToken] = &Token{Status: "active", ReadZones: true}
	}
	f.zones = []*zone{{
		id: f.newID(), name: strings.TrimSuffix(o.Zone, "."), status: "active", account: account{"a0000000000000000000000000000001", "Account One"},
		plan: o.Plan, quota: o.Quota, forgiving: o.Forgiving,
	}}
	f.Server = httpfake.Start(f)
	tb.Cleanup(f.Server.Close)
	return f
}

// Endpoint is the base URL for clients.
func (f *Fake) Endpoint() string { return f.Server.URL + prefix }

// ZoneID is the id of the fake's own zone.
func (f *Fake) ZoneID() string { return f.zones[0].id }

// Keys are the zone's keys in a config, a line each.
func (f *Fake) Keys() string {
	return fmt.Sprintf("provider: cloudflare\napi_token: %s\nendpoint: %s\n", f.token(), f.Endpoint())
}

// Env is what a config with those keys needs in its environment: nothing.
func (f *Fake) Env() []string { return nil }

// token is one that may edit.
func (f *Fake) token() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for text, t := range f.tokens {
		if t.EditDNS {
			return text
		}
	}
	return ""
}

// SetToken makes a token, or gives one other rights.
func (f *Fake) SetToken(text string, t Token) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tokens[text] = &t
}

// AddZone puts another zone into sight, of the account of that name, and returns its
// id.
func (f *Fake) AddZone(name, accountName string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	z := &zone{id: f.newID(), name: strings.TrimSuffix(name, "."), status: "active", account: account{f.newID(), accountName}, plan: Free}
	f.zones = append(f.zones, z)
	return z.id
}

// RemoveZone takes the fake's own zone out of the account.
func (f *Fake) RemoveZone() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.zones = f.zones[1:]
}

// Put adds a record with all its attributes, as a person does in the dashboard.
func (f *Fake) Put(tb TB, r Record) Record {
	tb.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	tx := f.begin(f.zones[0])
	made, failed := tx.post(fieldsOf(r))
	if failed != nil {
		tb.Fatalf("put %s %s %q: %v", r.Type, r.Name, r.Content, failed)
	}
	tx.commit("hand")
	return *made
}

// PutRaw adds records past all rules: what is malformed in the zones of the
// world. Each is the record as JSON, without its id.
func (f *Fake) PutRaw(tb TB, records ...string) {
	tb.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, text := range records {
		if !json.Valid([]byte(text)) {
			tb.Fatalf("put: %s is no JSON", text)
		}
		f.zones[0].records = append(f.zones[0].records, &Record{ID: f.newID(), raw: text})
	}
}

// Fill adds many address records, for benchmarks.
func (f *Fake) Fill(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	z := f.zones[0]
	for i := range n {
		z.records = append(z.records, &Record{
			ID: f.newID(), Name: fmt.Sprintf("host-%06d.%s", i/2, z.name), Type: "A", Content: fmt.Sprintf("198.51.%d.%d", i/256%256, i%256), TTL: 300,
			made: i, changed: i,
		})
	}
}

// Patch changes the one record with this name, type and content, as a person
// does in the dashboard.
func (f *Fake) Patch(tb TB, name, kind, content string, change func(*Record)) {
	tb.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	tx := f.begin(f.zones[0])
	i := slices.IndexFunc(tx.records, func(r *Record) bool {
		return r.Name == strings.TrimSuffix(name, ".") && r.Type == kind && r.Content == content
	})
	if i < 0 {
		tb.Fatalf("patch: there is no %s %s %q", name, kind, content)
	}
	r := *tx.records[i]
	change(&r)
	tx.records[i] = &r
	tx.note("patch", &r)
	tx.commit("hand")
}

// Records lists the zone.
func (f *Fake) Records() []Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []Record
	for _, r := range f.zones[0].records {
		list = append(list, *r)
	}
	return list
}

// History lists every change of the zone, a line each, in order; changes of one
// transaction have one number.
func (f *Fake) History() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.history)
}

// Attributes lists every record of the zone with all that it has but its id and
// times, a line each, sorted.
func (f *Fake) Attributes() []string {
	var lines []string
	for _, r := range f.Records() {
		lines = append(lines, r.attributes())
	}
	slices.Sort(lines)
	return lines
}
