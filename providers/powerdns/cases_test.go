package powerdns

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
	"sidestep/providers/powerdns/powerdnstest"
)

var wwwA = record.Key{Zone: testZone, Name: "www.example.com.", Type: record.A}

const wwwZone = powerdnstest.Empty + "www 60 IN A 192.0.2.10\nwww 60 IN A 192.0.2.20\n"

func start(t *testing.T, text string) (*powerdnstest.Fake, *Adapter) {
	t.Helper()
	f := powerdnstest.Start(t, powerdnstest.Options{Text: text})
	a := connect(t, f)
	a.now = func() time.Time { return time.Date(2026, 11, 30, 13, 5, 1, 250e6, time.UTC) }
	return f, a
}

// marked is the mark of a pause at the time that it is for the adapters of start.
func marked(value string) string {
	return "sidestep v=sidestep1 paused=" + value + "@2026-11-30T13:05:01.250Z"
}

func listed(t *testing.T, a *Adapter) *provider.Snapshot {
	t.Helper()
	seen, err := a.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func pauseOf(seen *provider.Snapshot, value, survivor string) provider.Call {
	return provider.Call{
		Key: wwwA, Seen: seen, Survivors: []string{survivor},
		Away: []record.Change{{Action: record.Pause, Key: wwwA, Value: value}},
	}
}

func resumeOf(seen *provider.Snapshot, value string) provider.Call {
	return provider.Call{Key: wwwA, Seen: seen, Add: []record.Change{{Action: record.Resume, Key: wwwA, Value: value}}}
}

func writesOf(f *powerdnstest.Fake) (writes []httpfake.Request) {
	for _, r := range f.Requests() {
		if r.Method != http.MethodGet {
			writes = append(writes, r)
		}
	}
	return writes
}

func wants(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: expected\n%s\ngot\n%s", what, strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}

// at is what the zone has of one name, marks included.
func at(f *powerdnstest.Fake, name string) (lines []string) {
	for _, line := range f.Attributes() {
		if strings.HasPrefix(strings.TrimPrefix(line, "comment "), name+" ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// A CNAME in capital letters and an address in a long spelling are what the config
// means by the short ones: nothing to change, and a swap finds them.
func TestCase41Spellings(t *testing.T) {
	f, a := start(t, powerdnstest.Empty)
	f.SQL("INSERT INTO records(domain_id,name,type,content,ttl,disabled,auth) VALUES " +
		"(1,'www.example.com','AAAA','2001:0DB8:0:0::0010',60,0,1), (1,'alias.example.com','CNAME','LB.Example.NET',60,0,1)")
	seen := listed(t, a)
	alias := record.Key{Zone: testZone, Name: "alias.example.com.", Type: record.CNAME}
	wants(t, "AAAA", seen.Set(record.Key{Zone: testZone, Name: "www.example.com.", Type: record.AAAA}).Live(), "2001:db8::10")
	wants(t, "CNAME", seen.Set(alias).Live(), "lb.example.net.")
	swap := provider.Call{Key: alias, Seen: seen, Away: []record.Change{{Action: record.Swap, Key: alias, From: "lb.example.net.", Value: "lb2.example.net."}}}
	if err := a.TakeAway(t.Context(), swap); err != nil {
		t.Fatal(err)
	}
	wants(t, "the alias", at(f, "alias.example.com."), "alias.example.com. 60 CNAME lb2.example.net")

	// Where the database tells letters apart, a set in capital letters would get a
	// second one beside it.
	f.SQL("INSERT INTO records(domain_id,name,type,content,ttl,disabled,auth) VALUES (1,'Big.example.com','A','192.0.2.1',60,0,1)")
	big := record.Key{Zone: testZone, Name: "big.example.com.", Type: record.A}
	call := provider.Call{Key: big, Seen: listed(t, a), Add: []record.Change{{Action: record.Create, Key: big, Value: "192.0.2.2"}}}
	f.Forget()
	failed(t, a.Add(t.Context(), call), provider.Permanent, "", "small letters")
	if n := len(writesOf(f)); n != 0 {
		t.Errorf("%d writes", n)
	}
}

// The bytes of a text are the same in the list as in the zone, and those that
// somebody put beside our copies stay as they are.
func TestCase44TextIsBytes(t *testing.T) {
	f, a := start(t, powerdnstest.Empty+"alias 60 IN CNAME lb.example.net.\n")
	h := f.Hand(t, nil)
	texts := map[string]string{
		`"` + strings.Repeat("a", 255) + `" "` + strings.Repeat("a", 45) + `"`: strings.Repeat("a", 300),
		`"with \" and \\ and ; and (x)"`:                                       `with " and \ and ; and (x)`,
		`" leading and trailing "`:                                             " leading and trailing ",
		`"\195\169"`:                                                           "é",
		`"ab" "cd"`:                                                            "abcd",
		`""`:                                                                   "",
		`"\000\255"`:                                                           "\x00\xff",
	}
	var wanted []string
	for shown, text := range texts {
		h.Put(providertest.RR{Name: "_sidestep.example.com.", Type: "TXT", TTL: time.Minute, Data: shown})
		h.Put(providertest.RR{Name: "_sidestep-paused.alias.example.com.", Type: "TXT", TTL: time.Minute, Data: shown})
		wanted = append(wanted, text)
	}
	seen := listed(t, a)
	var got []string
	for _, s := range seen.Stamps {
		got = append(got, s.Raw)
	}
	slices.Sort(got)
	wants(t, "the texts", got, wanted...)
	before := at(f, "_sidestep-paused.alias.example.com.")
	alias := record.Key{Zone: testZone, Name: "alias.example.com.", Type: record.CNAME}
	swap := provider.Call{Key: alias, Seen: seen, Away: []record.Change{{Action: record.Swap, Key: alias, From: "lb.example.net.", Value: "lb2.example.net."}}}
	if err := a.TakeAway(t.Context(), swap); err != nil {
		t.Fatal(err)
	}
	ours := `_sidestep-paused.alias.example.com. 60 TXT "v=sidestep1 type=CNAME value=lb.example.net. ttl=60"`
	wants(t, "the copies", at(f, "_sidestep-paused.alias.example.com."), append(before, ours)...)
}

// Somebody changes the set in the dashboard between the list and the write: a value
// more or less, a TTL, a value disabled, the mark gone. Nothing is written.
func TestCase58EditedByHandMeanwhile(t *testing.T) {
	f, a := start(t, wwwZone)
	fresh := "DELETE FROM records WHERE name='www.example.com'; DELETE FROM comments; " +
		"INSERT INTO records(domain_id,name,type,content,ttl,disabled,auth) VALUES (1,'www.example.com','A','192.0.2.10',60,0,1),(1,'www.example.com','A','192.0.2.20',60,0,1);"
	for what, edit := range map[string]string{
		"a foreign value": "INSERT INTO records(domain_id,name,type,content,ttl,disabled,auth) VALUES (1,'www.example.com','A','198.51.100.7',60,0,1)",
		"another value":   "UPDATE records SET content='198.51.100.7' WHERE content='192.0.2.20'",
		"a value gone":    "DELETE FROM records WHERE content='192.0.2.20'",
		"a TTL":           "UPDATE records SET ttl=5 WHERE name='www.example.com'",
		"disabled":        "UPDATE records SET disabled=1 WHERE content='192.0.2.20'",
	} {
		f.SQL(fresh)
		call := pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")
		f.SQL(edit)
		f.Forget()
		failed(t, a.TakeAway(t.Context(), call), provider.Conflict, "", "not what the list said")
		if n := len(writesOf(f)); n != 0 {
			t.Errorf("%s: %d writes", what, n)
		}
	}
	// A person's own disabling is held, and our next write leaves it.
	f.SQL(fresh + "INSERT INTO records(domain_id,name,type,content,ttl,disabled,auth) VALUES (1,'www.example.com','A','192.0.2.30',60,1,1)")
	if held, _ := listed(t, a).Set(wwwA).Find("192.0.2.30"); !held.Held || held.Paused || held.Live {
		t.Errorf("disabled by hand: got %+v", held)
	}
	if err := a.TakeAway(t.Context(), pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")); err != nil {
		t.Fatal(err)
	}
	wants(t, "www", at(f, "www.example.com."), "comment www.example.com. A "+marked("192.0.2.10"),
		"www.example.com. 60 A 192.0.2.10 disabled", "www.example.com. 60 A 192.0.2.20", "www.example.com. 60 A 192.0.2.30 disabled")
}

// A renewal puts its challenge in and out beside a name that is switched fifty
// times: no write of ours names it.
func TestCase61ChallengesSurvive(t *testing.T) {
	f, a := start(t, wwwZone+"_acme-challenge IN TXT \"zone\"\n_acme-challenge IN TXT \"zone2\"\n")
	h := f.Hand(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			rr := providertest.RR{Name: "_acme-challenge.www.example.com.", Type: "TXT", TTL: time.Minute, Data: fmt.Sprintf(`"%d"`, n)}
			h.Put(rr)
			h.Remove(rr)
		}
	})
	for range 25 {
		if err := a.TakeAway(t.Context(), pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")); err != nil {
			t.Error(err)
		}
		if err := a.Add(t.Context(), resumeOf(listed(t, a), "192.0.2.10")); err != nil {
			t.Error(err)
		}
	}
	cancel()
	group.Wait()
	for _, w := range writesOf(f) {
		if strings.Contains(string(w.Body), "acme") {
			t.Errorf("a write names the challenge: %s", w.Body)
		}
	}
	wants(t, "the challenges", at(f, "_acme-challenge.example.com."), `_acme-challenge.example.com. 300 TXT "zone"`, `_acme-challenge.example.com. 300 TXT "zone2"`)
}

// Records that nobody reads stand in the zone, and some that are not what the API
// says there can be: the others are listed, and www is switched.
func TestCase63OddRecords(t *testing.T) {
	f, a := start(t, wwwZone+`@ IN LOC 52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000m 10m
naptr IN NAPTR 100 10 "U" "E2U+sip" "!^.*$!sip:info@example.com!" .
odd IN TYPE65280 \# 3 abcdef
@ IN CAA 0 issue "letsencrypt.org"
@ IN MX 10 mail.example.net.
@ IN ALIAS lb.example.net.
lua IN LUA A "ifportup(443, {'192.0.2.1', '192.0.2.2'})"
http IN HTTPS 1 . alpn=h2
zero IN A 0.0.0.0
www 60 IN A 0.0.0.0
`)
	before := f.Attributes()
	seen := listed(t, a)
	wants(t, "told", seen.Skipped, "www.example.com. A: "+unspecified, "zero.example.com. A: "+unspecified)
	if err := a.TakeAway(t.Context(), pauseOf(seen, "192.0.2.10", "192.0.2.20")); err != nil {
		t.Fatal(err)
	}
	if err := a.Add(t.Context(), resumeOf(listed(t, a), "192.0.2.10")); err != nil {
		t.Fatal(err)
	}
	wants(t, "the zone", f.Attributes(), before...)

	// One record that PowerDNS itself cannot read fails its every answer.
	f.SQL("INSERT INTO records(domain_id,name,type,content,ttl,disabled,auth) VALUES (1,'bad.example.com','A','100::',60,0,1)")
	_, err := a.List(t.Context())
	failed(t, err, provider.Retryable, "HTTP 500", "pdnsutil check-zone example.com")
}

const unspecified = `read address "0.0.0.0": the unspecified address cannot be an answer`

// Sets of a wrong shape, in an answer that is otherwise right.
func TestCase63OddShapes(t *testing.T) {
	f, a := start(t, wwwZone)
	odd := `{"name":"example.com.","kind":"Native","serial":7,"rrsets":[
		{"name":"example.com.","type":"SOA","ttl":60,"records":[{"content":"ns. admin. 7 1 1 1 1","disabled":false}],"comments":[]},
		{"name":null,"type":"A","ttl":60,"records":[{"content":"192.0.2.1"}]},
		{"name":"text.example.com.","type":"A","ttl":"60","records":[{"content":"192.0.2.1"}]},
		{"name":"minus.example.com.","type":"A","ttl":-1,"records":[]},
		{"name":"n.example.com.","type":"A","ttl":60,"records":null,"comments":null},
		{"name":"o.example.com.","type":"A","ttl":60,"records":{"content":"192.0.2.1"}},
		{"name":"m.example.com.","type":"MX","ttl":60,"records":[{"content":null}]},
		7, null, [],
		{"name":"www.example.com.","type":"A","ttl":60,"records":[{"content":"192.0.2.10"},{"content":""},{"content":"100::"}]}]}`
	f.Arm(powerdnstest.Reads, 0, httpfake.Fault{Status: http.StatusOK, Body: odd})
	seen := listed(t, a)
	wants(t, "www", seen.Set(wwwA).Live(), "192.0.2.10")
	if len(seen.Skipped) < 6 {
		t.Errorf("expected a line for each odd set, got %q", seen.Skipped)
	}
	// A write that meets its own set in such a shape does not write.
	call := pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")
	f.Forget()
	f.Arm(powerdnstest.Reads, 0, httpfake.Fault{Status: http.StatusOK, Body: strings.Replace(odd, "text.example", "www.example", 1)})
	failed(t, a.TakeAway(t.Context(), call), provider.Permanent, "", "cannot be read")
	if n := len(writesOf(f)); n != 0 {
		t.Errorf("%d writes", n)
	}
}
