package route53test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/provider/providertest"
)

// The credential that the fake takes when Options say nothing else.
const (
	AccessKey = "AKIASIDESTEPTEST0001"
	SecretKey = "secret/of/the+tests/which+is/nowhere/else"
	ZoneID    = "Z0SIDESTEPTEST000001"
)

// Options are what a test wants of the fake.
type Options struct {
	Zone     string        // empty is example.com.
	ID       string        // of its hosted zone; empty is ZoneID
	Private  bool          // the hosted zone is a private one
	PageSize int           // the largest page of a list; 0 is 300, as at AWS
	Token    string        // a session token that requests have to carry
	Pending  int           // how often GetChange says PENDING of a change before INSYNC
	Messages bool          // tell of a refused batch in the form with one message for each problem
	Weighted bool          // what an operator puts by hand becomes weighted sets, one for each address
	Ahead    time.Duration // how far the fake's clock is ahead of the host's
}

// Fake is an account with hosted zones. Its methods may be called from any
// goroutine.
type Fake struct {
	Server *httpfake.Server

	tb      providertest.TB
	options Options
	mu      sync.Mutex
	zones   []*zone
	changes []int // how often each was asked for
	history []string
	cut     bool // the next list ends early
	role    bool // a role was assumed: its key is taken as well
}

// Start runs a fake until the test ends.
func Start(tb providertest.TB, o Options) *Fake {
	tb.Helper()
	if o.Zone == "" {
		o.Zone = "example.com."
	}
	if o.ID == "" {
		o.ID = ZoneID
	}
	if o.PageSize == 0 {
		o.PageSize = 300
	}
	f := &Fake{tb: tb, options: o}
	f.AddZone(o.Zone, o.ID, o.Private)
	f.Server = httpfake.Start(f)
	tb.Cleanup(f.Server.Close)
	return f
}

// AddZone adds a hosted zone to the account.
func (f *Fake) AddZone(name, zoneID string, private bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.zones = append(f.zones, newZone(name, zoneID, private))
}

// Keys are the keys of the zone in a config.
func (f *Fake) Keys() string {
	keys := fmt.Sprintf("provider: route53\naccess_key_id: %s\nsecret_access_key: %s\nendpoint: %s\n", AccessKey, SecretKey, f.Server.URL)
	if f.options.Token != "" {
		keys += "session_token: " + f.options.Token + "\n"
	}
	return keys
}

// History lists every change of the zones, one line each, in order.
func (f *Fake) History() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.history)
}

// Attributes lists every set of the zone with all of its attributes, sorted.
func (f *Fake) Attributes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []string
	for _, s := range f.zones[0].sets {
		lines = append(lines, s.line())
	}
	slices.Sort(lines)
	return lines
}

// Refuse is the fault of an error that the API answers with.
func Refuse(status int, code, message string) httpfake.Fault {
	return httpfake.Fault{
		Name: code, Status: status, Body: refusal{status, code, message}.body(),
		Header: http.Header{"Content-Type": {"text/xml"}, "Date": {time.Now().UTC().Format(http.TimeFormat)}},
	}
}

// Reads and Writes match requests that read record sets and that change them.
func Reads(r *http.Request, _ []byte) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), "/rrset")
}

// Writes is said beside Reads.
func Writes(r *http.Request, _ []byte) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), "/rrset")
}

// CutNext lets the next list end early, and say that it is whole.
func (f *Fake) CutNext() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cut = true
}

func (f *Fake) now() time.Time { return time.Now().Add(f.options.Ahead) }

var (
	byName = "/2013-04-01/hostedzonesbyname"
	oneOf  = regexp.MustCompile(`^/2013-04-01/(hostedzone|change)/([A-Z0-9]+)(/rrset)?/?$`)
)

// ServeHTTP is the API.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Method == http.MethodPost && r.URL.Path == "/" {
		f.assumeRole(w, r)
		return
	}
	if refused := f.signed(r); refused != nil {
		f.write(w, refused.status, refused.body())
		return
	}
	path := oneOf.FindStringSubmatch(r.URL.Path)
	switch {
	case r.Method == http.MethodGet && strings.TrimSuffix(r.URL.Path, "/") == byName:
		f.zonesByName(w, r)
	case path == nil:
		f.refuse(w, http.StatusNotFound, "UnknownOperationException", "unknown: "+r.Method+" "+r.URL.Path)
	case path[1] == "change" && r.Method == http.MethodGet:
		f.getChange(w, path[2])
	case path[3] == "" && r.Method == http.MethodGet:
		f.withZone(w, path[2], func(z *zone) { f.getZone(w, z) })
	case path[3] != "" && r.Method == http.MethodGet:
		f.withZone(w, path[2], func(z *zone) { f.list(w, r, z) })
	case path[3] != "" && r.Method == http.MethodPost:
		f.withZone(w, path[2], func(z *zone) { f.change(w, r, z) })
	default:
		f.refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed", r.Method)
	}
}

func (f *Fake) refuse(w http.ResponseWriter, status int, code, message string) {
	f.write(w, status, refusal{status, code, message}.body())
}

func (f *Fake) withZone(w http.ResponseWriter, zoneID string, do func(*zone)) {
	for _, z := range f.zones {
		if z.id == zoneID {
			do(z)
			return
		}
	}
	f.refuse(w, http.StatusNotFound, "NoSuchHostedZone", "No hosted zone found with ID: "+zoneID)
}

func described(z *zone) hostedZone {
	return hostedZone{ID: "/hostedzone/" + z.id, Name: z.name, CallerReference: "test", Config: zoneConfig{z.private}, ResourceRecordSetCount: len(z.sets)}
}

func (f *Fake) getZone(w http.ResponseWriter, z *zone) {
	a := zoneAnswer{HostedZone: described(z)}
	if z.private {
		a.VPCs = &struct{ VPC []vpc }{[]vpc{{"us-east-1", "vpc-1234"}}}
	} else {
		a.DelegationSet = &struct{ NameServers struct{ NameServer []string } }{}
		a.DelegationSet.NameServers.NameServer = nameServers
	}
	f.answer(w, a)
}

// zonesByName lists zones by the reversed labels of their names, then by id.
func (f *Fake) zonesByName(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, ok := f.maxItems(w, q.Get("maxitems"), 100)
	if !ok {
		return
	}
	zones := slices.Clone(f.zones)
	order := func(name, zoneID string) []string { return append(labels(name), "", zoneID) }
	slices.SortFunc(zones, func(a, b *zone) int { return slices.Compare(order(a.name, a.id), order(b.name, b.id)) })
	a := zonesAnswer{MaxItems: limit, DNSName: q.Get("dnsname")}
	for _, z := range zones {
		if name := q.Get("dnsname"); name != "" && slices.Compare(order(z.name, z.id), order(normal(name), q.Get("hostedzoneid"))) < 0 {
			continue
		}
		if len(a.HostedZones.HostedZone) == limit {
			a.IsTruncated, a.NextDNSName, a.NextHostedZoneID = true, z.name, z.id
			break
		}
		a.HostedZones.HostedZone = append(a.HostedZones.HostedZone, described(z))
	}
	f.answer(w, a)
}

func (f *Fake) maxItems(w http.ResponseWriter, text string, largest int) (int, bool) {
	if text == "" {
		return largest, true
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		f.refuse(w, http.StatusBadRequest, "InvalidInput", "1 validation error detected: Value '"+text+"' at 'maxItems' failed to satisfy constraint")
		return 0, false
	}
	return min(n, largest), true
}

func (f *Fake) list(w http.ResponseWriter, r *http.Request, z *zone) {
	q := r.URL.Query()
	limit, ok := f.maxItems(w, q.Get("maxitems"), f.options.PageSize)
	if !ok {
		return
	}
	name, kind, identifier := q.Get("name"), q.Get("type"), q.Get("identifier")
	if name == "" && kind != "" || kind == "" && identifier != "" {
		f.refuse(w, http.StatusBadRequest, "InvalidInput", "The input is not valid: type without name, or identifier without type")
		return
	}
	from := 0
	if name != "" {
		from, _ = z.index(id{normal(name), kind, identifier})
	}
	a := listAnswer{MaxItems: limit}
	page := z.sets[from:]
	if len(page) > limit {
		next := page[limit]
		a.IsTruncated, a.NextRecordName, a.NextRecordType, a.NextRecordIdentifier = true, next.Name, next.Type, text(next.SetIdentifier)
		page = page[:limit]
	}
	if f.cut {
		f.cut = false
		page, a.IsTruncated, a.NextRecordName, a.NextRecordType = page[:(len(page)+1)/2], false, "", ""
	}
	a.ResourceRecordSets.ResourceRecordSet = page
	f.answer(w, a)
}

func (f *Fake) change(w http.ResponseWriter, r *http.Request, z *zone) {
	body := make([]byte, 0, 4096)
	buffer := make([]byte, 4096)
	for {
		n, err := r.Body.Read(buffer)
		body = append(body, buffer[:n]...)
		if err != nil {
			break
		}
	}
	request, err := decode(body)
	if err != nil {
		f.refuse(w, http.StatusBadRequest, "MalformedInput", err.Error())
		return
	}
	changes := request.ChangeBatch.Changes.Change
	for _, c := range changes {
		if text := c.shape(); text != "" {
			f.refuse(w, http.StatusBadRequest, "InvalidInput", text)
			return
		}
	}
	if refused := z.apply(changes); len(refused) > 0 {
		if f.options.Messages {
			f.write(w, http.StatusBadRequest, batchBody(refused))
			return
		}
		f.refuse(w, http.StatusBadRequest, "InvalidChangeBatch", "["+strings.Join(refused, ", ")+"]")
		return
	}
	for _, c := range changes {
		f.history = append(f.history, strings.ToLower(c.Action)+" "+c.ResourceRecordSet.line())
	}
	f.changes = append(f.changes, 0)
	f.answer(w, changeAnswer{xml.Name{Space: namespace, Local: "ChangeResourceRecordSetsResponse"}, f.info(len(f.changes), "PENDING")})
}

func (f *Fake) info(n int, status string) changeInfo {
	return changeInfo{fmt.Sprintf("/change/C%d", n), status, f.now().UTC().Format(time.RFC3339)}
}

func (f *Fake) getChange(w http.ResponseWriter, changeID string) {
	n, err := strconv.Atoi(strings.TrimPrefix(changeID, "C"))
	if err != nil || n < 1 || n > len(f.changes) {
		f.refuse(w, http.StatusNotFound, "NoSuchChange", "Could not find resource with ID: "+changeID)
		return
	}
	f.changes[n-1]++
	status := "INSYNC"
	if f.changes[n-1] <= f.options.Pending {
		status = "PENDING"
	}
	f.answer(w, changeAnswer{xml.Name{Space: namespace, Local: "GetChangeResponse"}, f.info(n, status)})
}
