package powerdnstest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/provider/providertest/realserver"
	"sidestep/pkg/record"
)

// Options are what a server is started with. The zero value is an empty zone
// example.com.
type Options struct {
	Zone record.Name
	Text string // of the zone, in master file form (RFC 1035 section 5), SOA and NS included
}

// Empty is the text of a zone that has nothing but what its server needs.
const Empty = "$TTL 300\n@ IN SOA ns1.example.net. admin.example.net. 7 3600 600 86400 60\n@ IN NS ns1.example.net.\n"

// Fake is a real PowerDNS behind a proxy. Its methods may be called by several
// goroutines.
type Fake struct {
	*httpfake.Server // the proxy, which adapters are given

	Real *realserver.PowerDNS
	Zone record.Name

	t       testing.TB
	mu      sync.Mutex // one write, with the look at what came of it, at a time
	last    []string
	history []string
}

// Start runs both until the test ends.
func Start(t testing.TB, o Options) *Fake {
	t.Helper()
	if o.Zone == "" {
		o.Zone = "example.com."
	}
	if o.Text == "" {
		o.Text = Empty
	}
	f := &Fake{Zone: o.Zone, t: t}
	f.Real = realserver.StartPowerDNS(t, realserver.PowerDNSZone{Name: string(o.Zone), Text: o.Text, Ready: f.answers})
	f.sql("UPDATE domains SET type='NATIVE'; INSERT INTO domainmetadata(domain_id,kind,content) SELECT id,'SOA-EDIT-API','DEFAULT' FROM domains")
	f.last = f.Attributes()
	target, err := url.Parse(f.Real.API)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	proxy := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:    transport,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	f.Server = httpfake.Start(f.watched(proxy))
	t.Cleanup(func() {
		f.Close()
		transport.CloseIdleConnections()
	})
	return f
}

// Keys are the zone's keys in a config, as lines of YAML.
func (f *Fake) Keys() string {
	return fmt.Sprintf("provider: powerdns\nendpoint: %s\napi_key: %s\n", f.URL, realserver.PowerDNSKey)
}

// Env is what the environment must have for Keys: nothing.
func (f *Fake) Env() []string { return nil }

// watched lets one write through at a time, and notes what it changed.
func (f *Fake) watched(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		next.ServeHTTP(w, r)
		f.note()
	})
}

// note appends what is new in the zone to the history. The lock is held.
func (f *Fake) note() {
	now := f.Attributes()
	for _, line := range f.last {
		if !slices.Contains(now, line) {
			f.history = append(f.history, "- "+line)
		}
	}
	for _, line := range now {
		if !slices.Contains(f.last, line) {
			f.history = append(f.history, "+ "+line)
		}
	}
	f.last = now
}

// History lists every change of the zone in order: "+ " or "- ", and the record or
// comment as Attributes has it.
func (f *Fake) History() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.history)
}

// Attributes lists every record and comment that the database has of the zone, with
// all that it says of them but ids and times, sorted. The serial is left out of the
// SOA.
func (f *Fake) Attributes() []string {
	var lines []string
	for _, r := range f.rows() {
		lines = append(lines, r.String())
	}
	for _, line := range f.sql("SELECT 'comment', name || '.', type, account, comment FROM comments") {
		lines = append(lines, strings.ReplaceAll(line, "\t", " "))
	}
	slices.Sort(lines)
	return lines
}

// SQL runs statements on the server's database, as an edit by hand, and returns the
// rows that they print.
func (f *Fake) SQL(statements string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	rows := f.sql(statements)
	f.note()
	return rows
}

func (f *Fake) sql(statements string) []string {
	rows, err := f.Real.SQL(statements)
	if err != nil {
		f.t.Errorf("%v", err)
	}
	return rows
}

// Clear takes everything out of the zone but what its server needs, forgets the
// history, and disarms what was armed.
func (f *Fake) Clear() {
	f.SQL("DELETE FROM comments; DELETE FROM records WHERE type <> 'SOA' AND NOT (type = 'NS' AND name = " + text(f.Zone.Unrooted()) + ")")
	f.Disarm()
	f.Forget()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.history = nil
}

func (f *Fake) answers(ctx context.Context, addr string) bool {
	_, err := ask(ctx, addr, string(f.Zone), dns.TypeSOA)
	return err == nil
}

// insist asks until there is an answer, for half a minute: the server shuts a
// connection that a busy machine lets wait, and fails while its database is locked.
func insist(ctx context.Context, addr, name string, kind uint16) (rrs []dns.RR, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		if rrs, err = ask(ctx, addr, name, kind); err == nil {
			return rrs, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ask sends one query, and returns the records of that name and type.
func ask(ctx context.Context, addr, name string, kind uint16) ([]dns.RR, error) {
	query := new(dns.Msg)
	query.SetQuestion(name, kind)
	client := dns.Client{Net: "tcp", Timeout: 30 * time.Second}
	reply, _, err := client.ExchangeContext(ctx, query, addr)
	if err != nil {
		return nil, fmt.Errorf("ask for %s: %w", name, err)
	}
	if reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError {
		return nil, fmt.Errorf("ask for %s: %s", name, dns.RcodeToString[reply.Rcode])
	}
	return slices.DeleteFunc(reply.Answer, func(rr dns.RR) bool { return rr.Header().Rrtype != kind }), nil
}
