package cloudflare

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libdns/libdns"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
	"sidestep/providers/cloudflare/cloudflaretest"
)

var (
	wwwA   = record.Key{Zone: testZone, Name: "www.example.com.", Type: record.A}
	aliasC = record.Key{Zone: testZone, Name: "alias.example.com.", Type: record.CNAME}
)

func stampOf(n int) provider.Stamp {
	return provider.Stamp{Holder: "node-1", At: time.Unix(1764460800, 0).UTC(), Epoch: 1, Seq: uint64(n), Nonce: fmt.Sprintf("%016x", 0xabc0000+n)}
}

// node is one sidestep at work.
type node struct {
	*Adapter

	t   *testing.T
	seq int
}

func newNode(t *testing.T, f *cloudflaretest.Fake) *node {
	t.Helper()
	return &node{Adapter: connect(t, f), t: t}
}

func (n *node) next() provider.Stamp {
	n.seq++
	return stampOf(n.seq)
}

func (n *node) list() *provider.Snapshot {
	n.t.Helper()
	s, err := n.List(n.t.Context())
	if err != nil {
		n.t.Fatalf("list: %v", err)
	}
	return s
}

// hold claims the zone.
func (n *node) hold() *node {
	n.t.Helper()
	if err := n.Claim(n.t.Context(), n.list(), n.next(), nil); err != nil {
		n.t.Fatalf("claim: %v", err)
	}
	return n
}

// write makes one change from a new list.
func (n *node) write(key record.Key, survivors []string, c record.Change) error {
	n.t.Helper()
	c.Key = key
	call := provider.Call{Key: key, Seen: n.list(), Next: n.next(), Survivors: survivors}
	if c.Action.Add() {
		call.Add = []record.Change{c}
		return n.Add(n.t.Context(), call)
	}
	call.Away = []record.Change{c}
	return n.TakeAway(n.t.Context(), call)
}

func (n *node) must(key record.Key, survivors []string, c record.Change) {
	n.t.Helper()
	if err := n.write(key, survivors, c); err != nil {
		n.t.Fatalf("%s %s: %v", c.Action, c.Value, err)
	}
}

// wantClass checks an error's class, and that it says what to do or where.
func wantClass(t *testing.T, what string, err error, class provider.Class, parts ...string) {
	t.Helper()
	var failed *provider.Error
	if !errors.As(err, &failed) || failed.Class != class {
		t.Errorf("%s: expected %v, got %v", what, class, err)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: expected %q in %q", what, part, err)
		}
	}
	if strings.ContainsAny(err.Error(), "\r\n") || strings.Contains(err.Error(), cloudflaretest.DefaultToken) {
		t.Errorf("%s: more than a line, or the token: %q", what, err)
	}
}

// bodies are the bodies of the writes that arrived.
func bodies(f *cloudflaretest.Fake) []string {
	var list []string
	for _, r := range f.Server.Requests() {
		if r.Method != http.MethodGet {
			list = append(list, string(r.Body))
		}
	}
	return list
}

// without leaves the stamp out of a list of records.
func without(lines []string) []string {
	return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "_sidestep.") })
}

func address(value string) cloudflaretest.Record {
	return cloudflaretest.Record{Name: "www.example.com", Type: "A", Content: value, TTL: 300}
}

// Input: a pool of two addresses, set through libdns's interface on a name that
// has none, one other, or three others.
func TestCase37SetRecordsKeepsBothValues(t *testing.T) {
	for _, old := range [][]string{nil, {"203.0.113.9"}, {"203.0.113.7", "203.0.113.8", "203.0.113.1"}} {
		f := cloudflaretest.Start(t, cloudflaretest.Options{})
		for _, value := range old {
			f.Put(t, address(value))
		}
		a := connect(t, f)
		var want []libdns.Record
		for _, value := range []string{"203.0.113.1", "203.0.113.2"} {
			want = append(want, libdns.RR{Name: "www", Type: "A", TTL: 5 * time.Minute, Data: value})
		}
		for round := range 2 {
			f.Server.Forget()
			set, err := a.SetRecords(t.Context(), testZone, want)
			if err != nil || len(set) != 2 {
				t.Fatalf("from %v: %v, %v", old, set, err)
			}
			if got := f.Hand(t, nil).Live(wwwA); !slices.Equal(got, []string{"203.0.113.1", "203.0.113.2"}) {
				t.Errorf("from %v: the zone has %v", old, got)
			}
			if n := len(bodies(f)); n != 1-round {
				t.Errorf("from %v: %d writes in round %d", old, n, round+1)
			}
		}
	}
}

// Input: two SRV values of one name, of which one is to be deleted.
func TestCase47OneSRVOfTwoIsDeleted(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{})
	for _, host := range []string{"a", "b"} {
		f.Put(t, cloudflaretest.Record{Name: "_sip._tcp", Type: "SRV", TTL: 300, Data: fmt.Sprintf(`{"priority":1,"weight":2,"port":5060,"target":"%s.example.com"}`, host)})
	}
	id := f.Records()[0].ID
	gone, err := connect(t, f).DeleteRecords(t.Context(), testZone, []libdns.Record{
		libdns.SRV{Service: "sip", Transport: "tcp", Name: "@", Priority: 1, Weight: 2, Port: 5060, Target: "a.example.com."},
	})
	if err != nil || len(gone) != 1 {
		t.Fatalf("expected one record deleted, got %v, %v", gone, err)
	}
	if got := bodies(f); len(got) != 1 || got[0] != `{"deletes":[{"id":"`+id+`"}]}` {
		t.Errorf("expected the id %s and no other, sent %v", id, got)
	}
	if left := f.Records(); len(left) != 1 || !strings.Contains(left[0].Content, "b.example.com") {
		t.Errorf("left: %v", left)
	}
}

// decorated is what people set on records, on a plan that has all of it.
func decorated(t *testing.T) *cloudflaretest.Fake {
	t.Helper()
	f := cloudflaretest.Start(t, cloudflaretest.Options{Plan: cloudflaretest.Pro})
	first := address("192.0.2.10")
	first.Proxied, first.TTL, first.Comment, first.Tags, first.Settings = true, 1, "owner: web", []string{"a:b"}, `{"ipv4_only":true}`
	f.Put(t, first)
	second := first
	second.Content, second.Comment = "192.0.2.20", "owner: web, second"
	f.Put(t, second)
	alias := first
	alias.Name, alias.Type, alias.Content, alias.Settings = "alias", "CNAME", "lb1.example.net", `{"flatten_cname":true}`
	f.Put(t, alias)
	plain := alias
	plain.Name, plain.Proxied, plain.TTL = "plain", false, 600
	f.Put(t, plain)
	return f
}

// Input: www A 192.0.2.10 and a second value, proxied, automatic, with comment,
// tags and settings, and aliases with the same: there and back.
func TestCase48AttributesComeBack(t *testing.T) {
	f := decorated(t)
	before := f.Attributes()
	ids := map[string]string{}
	for _, r := range f.Records() {
		ids[r.Name+r.Content] = r.ID
	}
	n := newNode(t, f).hold()
	n.must(wwwA, []string{"192.0.2.20"}, record.Change{Action: record.Pause, Value: "192.0.2.10"})
	n.must(wwwA, nil, record.Change{Action: record.Resume, Value: "192.0.2.10"})
	for _, name := range []record.Name{"alias.example.com.", "plain.example.com."} {
		key := record.Key{Zone: testZone, Name: name, Type: record.CNAME}
		for _, swap := range [][2]string{{"lb1.example.net.", "lb2.example.net."}, {"lb2.example.net.", "lb1.example.net."}} {
			n.must(key, nil, record.Change{Action: record.Swap, From: swap[0], Value: swap[1], TTL: 600 * time.Second})
		}
	}
	after := without(f.Attributes())
	after = slices.DeleteFunc(after, func(line string) bool { return strings.Contains(line, "value=lb2.example.net.") })
	if !slices.Equal(before, after) {
		t.Errorf("before\n%s\nafter\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	for _, r := range f.Records() {
		if id, found := ids[r.Name+r.Content]; found && id != r.ID {
			t.Errorf("%s %s has another id", r.Name, r.Content)
		}
	}
	for _, body := range bodies(f) {
		if strings.Contains(body, `"proxied":false`) {
			t.Errorf("a write takes the proxy away: %s", body)
		}
	}
}

// The rest of the same input: a value that is new beside proxied ones, an alias
// that is taken out whole and put back, and libdns's Set on a decorated name.
func TestCase48NewRecordsTakeAfterOld(t *testing.T) {
	f := decorated(t)
	before := f.Attributes()
	n := newNode(t, f).hold()
	n.must(wwwA, nil, record.Change{Action: record.Create, Value: "192.0.2.30", TTL: time.Minute})
	want := `www.example.com A "192.0.2.30" ttl=1 proxied=true private_routing=false comment="owner: web" tags=["a:b"] settings={"ipv4_only":true}`
	if !slices.Contains(f.Attributes(), want) {
		t.Errorf("expected %s, got\n%s", want, strings.Join(f.Attributes(), "\n"))
	}
	call := provider.Call{Key: aliasC, Seen: n.list(), Next: n.next(), Empty: true, Away: []record.Change{{Action: record.Pause, Key: aliasC, Value: "lb1.example.net."}}}
	if err := n.TakeAway(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	n.must(aliasC, nil, record.Change{Action: record.Resume, Value: "lb1.example.net."})
	after := slices.DeleteFunc(without(f.Attributes()), func(line string) bool { return line == want })
	if !slices.Equal(before, after) {
		t.Errorf("before\n%s\nafter\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	if _, err := n.SetRecords(t.Context(), testZone, []libdns.Record{libdns.RR{Name: "www", Type: "A", Data: "203.0.113.5"}}); err != nil {
		t.Fatal(err)
	}
	want = strings.Replace(want, "192.0.2.30", "203.0.113.5", 1)
	if !slices.Contains(f.Attributes(), want) {
		t.Errorf("libdns: expected %s, got\n%s", want, strings.Join(f.Attributes(), "\n"))
	}
}

// Input: a proxied record and a wish of 60 s; records without the proxy with
// automatic, 60 and 300 s, and wishes of 30, 60, 300 and 86401 s.
func TestCase49TTLs(t *testing.T) {
	for _, row := range []struct {
		ttl     int
		proxied bool
		wish    time.Duration
		want    int // as the API keeps it afterwards
	}{
		{1, true, time.Minute, 1},
		{1, false, 300 * time.Second, 1},
		{1, false, time.Minute, 60},
		{300, false, 30 * time.Second, 60},
		{60, false, 30 * time.Second, 60},
		{60, false, 60 * time.Second, 60},
		{60, false, time.Second, 60},
		{60, false, 86400 * time.Second, 86400},
		{60, false, 86401 * time.Second, 86400},
	} {
		f := cloudflaretest.Start(t, cloudflaretest.Options{})
		r := address("192.0.2.10")
		r.TTL, r.Proxied = row.ttl, row.proxied
		f.Put(t, r)
		n := newNode(t, f).hold()
		differs := func() bool {
			a, _ := n.list().Set(wwwA).Find("192.0.2.10")
			if a.Proxied != row.proxied {
				t.Errorf("%+v: listed as %+v", row, a)
			}
			return !a.OwnTTL && a.TTL != a.Kept(row.wish)
		}
		if differs() {
			err := n.write(wwwA, []string{"192.0.2.10"}, record.Change{Action: record.SetTTL, Value: "192.0.2.10", TTL: row.wish})
			if err != nil {
				t.Errorf("%+v: %v", row, err)
			}
		}
		if got := f.Records()[0].TTL; got != row.want {
			t.Errorf("%+v: the record has a TTL of %d", row, got)
		}
		if differs() {
			t.Errorf("%+v: the second plan is not empty", row)
		}
	}
}

// The rest of the same input: whatever is created says its TTL.
func TestCase49EveryNewRecordSaysItsTTL(t *testing.T) {
	f := decorated(t)
	n := newNode(t, f).hold()
	for i, ttl := range []time.Duration{0, time.Second, 30 * time.Second, time.Hour, 100 * time.Hour} {
		key := record.Key{Zone: testZone, Name: record.Name(fmt.Sprintf("n%d.example.com.", i)), Type: record.A}
		n.must(key, nil, record.Change{Action: record.Create, Value: "192.0.2.1", TTL: ttl})
	}
	n.must(aliasC, nil, record.Change{Action: record.Swap, From: "lb1.example.net.", Value: "lb2.example.net."})
	for _, body := range bodies(f) {
		var b struct{ Posts []map[string]any }
		if err := json.Unmarshal([]byte(body), &b); err != nil {
			t.Fatal(err)
		}
		for _, p := range b.Posts {
			if ttl, ok := p["ttl"].(float64); !ok || ttl != 1 && ttl < 60 || ttl > 86400 {
				t.Errorf("a record is made with the TTL %v: %s", p["ttl"], body)
			}
		}
	}
}

// Input: a config that wants 30 s in a zone whose smallest TTL is 60 s: the value
// changes at the first attempt, and the next plan is empty.
func TestCase50SmallTTLStopsNoFailover(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{})
	f.Put(t, address("192.0.2.10"))
	n := newNode(t, f).hold()
	f.Server.Forget()
	n.must(wwwA, nil, record.Change{Action: record.Create, Value: "192.0.2.20", TTL: 30 * time.Second})
	n.must(wwwA, []string{"192.0.2.20"}, record.Change{Action: record.Pause, Value: "192.0.2.10"})
	n.must(wwwA, nil, record.Change{Action: record.Resume, Value: "192.0.2.10", TTL: 30 * time.Second})
	if n := len(bodies(f)); n != 3 {
		t.Errorf("expected three writes, got %d", n)
	}
	for _, value := range []string{"192.0.2.10", "192.0.2.20"} {
		if a, _ := n.list().Set(wwwA).Find(value); a.TTL != 60*time.Second || max(30*time.Second, a.MinTTL) != a.TTL {
			t.Errorf("%s: %+v", value, a)
		}
	}
}

// Input: two _acme-challenge texts that come and go while www fails over again
// and again, and a mark of somebody's below it.
func TestCase61ChallengesSurvive(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{})
	hand := f.Hand(t, nil)
	for _, value := range []string{"192.0.2.10", "192.0.2.20"} {
		f.Put(t, address(value))
	}
	hand.Put(providertest.RR{Name: "_mark.www.example.com.", Type: "TXT", TTL: time.Minute, Data: `"mine"`})
	n := newNode(t, f).hold()
	challenge := func(i int) providertest.RR {
		return providertest.RR{Name: "_acme-challenge.www.example.com.", Type: "TXT", TTL: time.Minute, Data: fmt.Sprintf(`"token-%d"`, i)}
	}
	hand.Put(challenge(0))
	for i := range 50 {
		hand.Put(challenge(i + 1))
		n.must(wwwA, []string{"192.0.2.20"}, record.Change{Action: record.Pause, Value: "192.0.2.10"})
		hand.Remove(challenge(i))
		n.must(wwwA, nil, record.Change{Action: record.Resume, Value: "192.0.2.10"})
	}
	want := []string{`"mine"`, `"token-50"`}
	var got []string
	for _, r := range f.Records() {
		if r.Type == "TXT" && r.Name != "_sidestep.example.com" {
			got = append(got, r.Content)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("expected %v, got %v", want, got)
	}
	for _, body := range bodies(f) {
		if strings.Contains(body, "_acme-challenge") || strings.Contains(body, "_mark") {
			t.Errorf("a write names what is not ours: %s", body)
		}
	}
}

// Input: records beside www that nobody can parse, and types of the future.
func TestCase63OddRecords(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{})
	f.Put(t, address("192.0.2.10"))
	f.Put(t, address("192.0.2.20"))
	f.PutRaw(t,
		`{"type":"LOC","name":"example.com","content":"52 22 23.000 N"}`,
		`{"type":"TYPE65534","name":"x.example.com","content":"\\# 1 00"}`,
		`{"type":"CAA","name":"example.com","content":null,"data":{"flags":"0"}}`,
		`{"type":"SRV","name":"_sip._tcp.example.com"}`,
		`{"type":"A","name":"odd.example.com","content":"100::","ttl":300}`,
		`{"type":"MX","name":"example.com","content":"mail.example.net","priority":null}`,
		`{"type":"A","name":"www.example.com","content":"192.0.2.30","ttl":"soon"}`,
		`{"type":"A","name":"two words.example.com","content":"192.0.2.31","ttl":60}`,
		`{"type":"CNAME","name":"broken.example.com","content":null,"ttl":60}`,
		`{"type":"TXT","name":7,"content":[]}`,
		`{"name":"www.example.com"}`,
	)
	n := newNode(t, f).hold()
	n.must(wwwA, []string{"192.0.2.20"}, record.Change{Action: record.Pause, Value: "192.0.2.10"})
	seen := n.list()
	if got := seen.Set(wwwA).Live(); !slices.Equal(got, []string{"192.0.2.20"}) {
		t.Errorf("live: %v", got)
	}
	told := strings.Join(seen.Skipped, "\n")
	for _, part := range []string{"odd.example.com A", "ttl is", "two words", "broken.example.com CNAME", "it has no type"} {
		if !strings.Contains(told, part) {
			t.Errorf("expected a line about %q, got\n%s", part, told)
		}
	}
	if len(seen.Skipped) != 6 || seen.Records != 14 {
		t.Errorf("expected 6 lines and 14 records, got %d and\n%s", seen.Records, told)
	}
	if _, err := n.GetRecords(t.Context(), testZone); err != nil {
		t.Errorf("libdns: %v", err)
	}
}

// TestARestoredAddressIsProxiedAsItsSiblings: only the readable copy of a value
// is left, beside a proxied address; it says nothing of the proxy, or does.
func TestARestoredAddressIsProxiedAsItsSiblings(t *testing.T) {
	for said, proxied := range map[string]bool{"": true, " proxied=true": true, " proxied=false": false} {
		f, n := world(t)
		f.Patch(t, "www.example.com", "A", "192.0.2.20", func(r *cloudflaretest.Record) { r.Proxied, r.TTL = true, 1 })
		text := provider.Parked{Type: record.A, Value: "192.0.2.30", TTL: 5 * time.Minute}.String() + said
		f.Put(t, cloudflaretest.Record{Name: "_sidestep-paused.www", Type: "TXT", Content: text, TTL: 60})
		n.must(wwwA, nil, record.Change{Action: record.Resume, Value: "192.0.2.30", TTL: 2 * time.Minute})
		want := fmt.Sprintf(`www.example.com A "192.0.2.30" ttl=%d proxied=%v`, map[bool]int{true: 1, false: 120}[proxied], proxied)
		if got := strings.Join(f.Attributes(), "\n"); !strings.Contains(got, want) {
			t.Errorf("%q: expected %s in\n%s", said, want, got)
		}
	}
}
