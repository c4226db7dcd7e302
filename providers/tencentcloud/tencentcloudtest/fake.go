package tencentcloudtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/provider/providertest"
)

// The credential of the account that has the zone.
const (
	SecretID  = "AKIDexample0000000000000000000000001"
	SecretKey = "exampleKey00000000000000000000001"
)

// Options are what differs between domains and accounts.
type Options struct {
	Zone       string           // "example.com." when empty
	Edition    string           // "china" when empty, or "international": the names of the lines
	Grade      string           // the domain's plan, "DP_PLUS" when empty; DP_FREE and D_FREE keep no TTL below 600
	Roll       int              // how many records of one name, type and line may be live; 0 is any number
	RefuseTTL  bool             // a record with too small a TTL is refused when it is created, and not raised
	Duplicates bool             // equal records are not refused
	Unicode    bool             // the API knows the domain by its Unicode name alone
	Token      string           // session token that goes with the credential
	ID         uint64           // of the domain, 100200300 when 0
	Lag        time.Duration    // how long a new record is missing from lists, unless Settle is called
	Now        func() time.Time // the server's clock; nil is the machine's
}

// Record is one record with all of its attributes.
type Record struct {
	ID      uint64
	Name    string // below the zone, "@" for the apex
	Type    string
	Value   string
	Line    string // the id of the line
	TTL     uint32
	MX      uint16
	Weight  *uint32
	Paused  bool
	Remark  string
	Monitor string // MonitorStatus
	Default bool   // one of the vendor's own NS records

	created, updated time.Time
}

// String is the record with all attributes but its id and times.
func (r Record) String() string {
	weight, status := "-", "ENABLE"
	if r.Weight != nil {
		weight = fmt.Sprint(*r.Weight)
	}
	if r.Paused {
		status = "DISABLE"
	}
	return fmt.Sprintf("%s %s %q line=%s ttl=%d mx=%d weight=%s monitor=%s %s remark=%q", r.Name, r.Type, r.Value, r.Line, r.TTL, r.MX, weight, r.Monitor, status, r.Remark)
}

// Fake is one account with one domain. Its methods may be called from any
// goroutine.
type Fake struct {
	Server *httpfake.Server

	options Options
	names   []string // that the API knows the domain by

	mu      sync.Mutex
	records []*Record
	nextID  uint64
	calls   uint64
	locked  bool
	status  string
	settled uint64 // records up to this id are listed
	history []string
}

// Start serves a domain that has nothing but its two NS records until the test
// ends.
func Start(t providertest.TB, o Options) *Fake {
	t.Helper()
	o.Zone, o.Edition, o.Grade = cmp.Or(o.Zone, "example.com."), cmp.Or(o.Edition, "china"), cmp.Or(o.Grade, "DP_PLUS")
	if o.Now == nil {
		o.Now = time.Now
	}
	if lines[o.Edition] == nil {
		t.Fatalf("tencentcloudtest: no edition %q", o.Edition)
	}
	f := &Fake{options: o, names: namesOf(o), status: "ENABLE", nextID: 1700000000}
	for _, ns := range []string{"a.dnspod.com.", "b.dnspod.com."} {
		f.insert(&Record{Name: "@", Type: "NS", Value: ns, Line: "0", TTL: 86400, Default: true})
	}
	f.history, f.settled = nil, f.nextID
	f.Server = httpfake.Start(http.HandlerFunc(f.serve))
	t.Cleanup(f.Server.Close)
	return f
}

// Keys are the zone's keys of a config, as YAML.
func (f *Fake) Keys() string {
	text := fmt.Sprintf("provider: tencentcloud\nsecret_id: %s\nsecret_key: %s\nedition: %s\nendpoint: %s\n", SecretID, SecretKey, f.options.Edition, f.Server.URL)
	if f.options.Token != "" {
		text += "session_token: " + f.options.Token + "\n"
	}
	return text
}

// Insert puts a record in, as the console does, and gives its id. It is listed
// at once.
func (f *Fake) Insert(r Record) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.Line = cmp.Or(r.Line, "0")
	f.insert(&r)
	f.records[len(f.records)-1].created = time.Time{}
	return f.nextID
}

func (f *Fake) insert(r *Record) {
	f.nextID++
	r.ID, r.created, r.updated = f.nextID, f.options.Now(), f.options.Now()
	f.records = append(f.records, r)
	f.note("create", r)
}

// Edit changes a record, as the console does.
func (f *Fake) Edit(id uint64, do func(*Record)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.find(id); r != nil {
		do(r)
		f.note("edit", r)
	}
}

// Delete removes a record, as the console does.
func (f *Fake) Delete(id uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove(id)
}

func (f *Fake) remove(id uint64) {
	if r := f.find(id); r != nil {
		f.note("delete", r)
		f.records = slices.DeleteFunc(f.records, func(r *Record) bool { return r.ID == id })
	}
}

func (f *Fake) find(id uint64) *Record {
	for _, r := range f.records {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// Lock locks the domain against changes, or unlocks it.
func (f *Fake) Lock(locked bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.locked = locked
}

// SetStatus makes the domain's status another than ENABLE: PAUSE or SPAM.
func (f *Fake) SetStatus(status string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status = status
}

// SetGrade gives the domain another plan.
func (f *Fake) SetGrade(grade string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.options.Grade = grade
}

// Settle lets lists show every record.
func (f *Fake) Settle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.settled = f.nextID
}

// Records lists every record in the order of their ids.
func (f *Fake) Records() []Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []Record
	for _, r := range f.records {
		all = append(all, *r)
	}
	return all
}

// Attributes lists every record with all attributes but ids and times, sorted.
func (f *Fake) Attributes() []string {
	var all []string
	for _, r := range f.Records() {
		all = append(all, r.String())
	}
	slices.Sort(all)
	return all
}

// History lists every change of the zone in order.
func (f *Fake) History() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.history)
}

func (f *Fake) note(what string, r *Record) {
	f.history = append(f.history, fmt.Sprintf("%s %d: %s", what, r.ID, r))
}

// Action picks requests of actions of the API.
func Action(names ...string) httpfake.Match {
	return func(r *http.Request, _ []byte) bool { return slices.Contains(names, r.Header.Get("X-TC-Action")) }
}

// Writes picks requests that would change the zone.
var Writes = Action("CreateRecord", "ModifyRecord", "ModifyRecordStatus", "ModifyRecordRemark", "DeleteRecord")

// Refusal is an answer of status 200 with an error of the API.
func Refusal(code string) httpfake.Fault {
	return httpfake.Fault{Name: code, Status: http.StatusOK, Header: jsonHeader, Body: refusal(code, "armed by the test")}
}

var jsonHeader = http.Header{"Content-Type": {"application/json"}}

func refusal(code, message string) string {
	return encode(map[string]any{"Error": map[string]string{"Code": code, "Message": message}})
}

// encode makes the answer of fields.
func encode(fields map[string]any) string {
	fields["RequestId"] = "5d1cf2ea-0000-4000-8000-000000000001"
	body, err := json.Marshal(map[string]any{"Response": fields})
	if err != nil {
		return "{}"
	}
	return string(body)
}

// Count counts the requests of an action that arrived since the last Forget.
func (f *Fake) Count(action string) int {
	n := 0
	for _, r := range f.Server.Requests() {
		if r.Header.Get("X-TC-Action") == action {
			n++
		}
	}
	return n
}

// Calls lists the actions of the requests that arrived since the last Forget.
func (f *Fake) Calls() []string {
	var calls []string
	for _, r := range f.Server.Requests() {
		calls = append(calls, r.Header.Get("X-TC-Action"))
	}
	return calls
}

// lines are the lines of the editions: id, then name.
var lines = map[string][][2]string{
	"china": {{"0", "默认"}, {"7=0", "境内"}, {"3=0", "境外"}, {"10=0", "电信"}, {"10=1", "联通"}, {"10=2", "教育网"}, {"10=3", "移动"}, {"80=0", "搜索引擎"}},
	"international": {
		{"0", "Default"}, {"7=0", "Chinese mainland"}, {"3=0", "Outside Chinese mainland"},
		{"10=0", "China Telecom"}, {"10=1", "China Unicom"}, {"10=3", "China Mobile"},
	},
}

// lineID finds a line by id or, without one, by name.
func (f *Fake) lineID(id, name string) (string, bool) {
	for _, l := range lines[f.options.Edition] {
		if id != "" && l[0] == id || id == "" && l[1] == name {
			return l[0], true
		}
	}
	return "", false
}

func (f *Fake) lineName(id string) string {
	for _, l := range lines[f.options.Edition] {
		if l[0] == id {
			return l[1]
		}
	}
	return id
}

// least is the smallest TTL of the plan.
func (f *Fake) least() uint32 {
	if strings.HasSuffix(f.options.Grade, "_FREE") {
		return 600
	}
	return 1
}
