package tencentcloud

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/libdns/libdns"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/providers/tencentcloud/tencentcloudtest"
)

// TestDomainByAnyOfItsNames: an IDN is found whether the API knows it by its
// A-labels or by its Unicode name alone, and so is a record with a Unicode label.
func TestDomainByAnyOfItsNames(t *testing.T) {
	for _, unicode := range []bool{false, true} {
		f := tencentcloudtest.Start(t, tencentcloudtest.Options{Zone: "xn--bcher-kva.example.", Unicode: unicode})
		f.Insert(tencentcloudtest.Record{Name: "tür", Type: "A", Value: one, TTL: 600})
		s := settings(f)
		s.Zone = "xn--bcher-kva.example."
		a := connect(t, s)
		k := record.Key{Zone: s.Zone, Name: "xn--tr-xka.xn--bcher-kva.example.", Type: record.A}
		if live := list(t, a).Set(k).Live(); !slices.Equal(live, []string{one}) {
			t.Errorf("unicode %v: live is %v of %v", unicode, live, list(t, a).Sets)
		}
		a.mustAdd(t, create(list(t, a), k, two, 10*time.Minute))
		if live := list(t, a).Set(k).Live(); len(live) != 2 {
			t.Errorf("unicode %v: after a create: %v", unicode, live)
		}
	}
}

// TestKeyMayNotDescribe: a key that may list and edit, and not describe the
// domain, is enough.
func TestKeyMayNotDescribe(t *testing.T) {
	a, f, _ := pair(t, tencentcloudtest.Options{Grade: "DP_FREE"})
	f.Server.Arm(tencentcloudtest.Action("DescribeDomain"), 0, tencentcloudtest.Refusal("UnauthorizedOperation"))
	a.mustTakeAway(t, pause(list(t, a), one, two))
	if n := f.Count("DescribeDomain"); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// Domains of one name in two accounts have ids of their own, by which a list tells
// them apart; but where the key may not describe the domain.
func TestListTellsWhichDomainItIs(t *testing.T) {
	for _, id := range []uint64{0, 77} {
		a, f, _ := pair(t, tencentcloudtest.Options{ID: id})
		if got, want := list(t, a).ID, strconv.FormatUint(cmp.Or(id, 100200300), 10); got != want {
			t.Errorf("the list is of %q, want %q", got, want)
		}
		f.Server.Arm(tencentcloudtest.Action("DescribeDomain"), 0, tencentcloudtest.Refusal("UnauthorizedOperation"))
		if got := list(t, connect(t, settings(f))).ID; got != "" {
			t.Errorf("not told, and the list is of %q", got)
		}
	}
}

func TestInspect(t *testing.T) {
	a, f, _ := pair(t, tencentcloudtest.Options{Grade: "DP_FREE"})
	lines, err := a.Inspect(t.Context())
	text := strings.Join(lines, "\n")
	for _, words := range []string{"domain example.com: status ENABLE, plan FREE (DP_FREE), 4 records", "no TTL below 600 s", "may list the records"} {
		if !strings.Contains(text, words) {
			t.Errorf("%q is not in\n%s", words, text)
		}
	}
	if err != nil || len(f.History()) != 2 {
		t.Errorf("%v; %v", err, f.History())
	}
	f.SetStatus("PAUSE")
	_, err = a.Inspect(t.Context())
	failed(t, err, provider.Permanent, "PAUSE", "DNSPod console")
}

// TestAttributesSurviveEveryWrite: line, weight, remark and what the vendor keeps
// beside them are the same after a failover and the way back, a change of TTL and
// of weight, of a record that has all of them.
func TestAttributesSurviveEveryWrite(t *testing.T) {
	a, f := world(t, tencentcloudtest.Options{})
	weight := uint32(7)
	f.Insert(tencentcloudtest.Record{Name: "www", Type: "A", Line: "10=0", Value: one, TTL: 300, Weight: &weight, Remark: "all of it", Monitor: "Ok"})
	f.Insert(tencentcloudtest.Record{Name: "www", Type: "A", Line: "10=0", Value: two, TTL: 300, Weight: &weight})
	before := f.Attributes()
	line := www
	line.Variant = "电信"
	away := func(c record.Change) {
		t.Helper()
		c.Key, c.Value = line, one
		a.mustTakeAway(t, provider.Call{Key: line, Seen: list(t, a), Away: []record.Change{c}, Survivors: []string{two}})
	}
	away(record.Change{Action: record.Pause})
	a.mustAdd(t, provider.Call{Key: line, Seen: list(t, a), Add: []record.Change{{Action: record.Resume, Key: line, Value: one}}})
	away(record.Change{Action: record.SetTTL, TTL: 20 * time.Minute})
	away(record.Change{Action: record.SetWeight, Weight: 9})
	got, _ := list(t, a).Set(line).Find(one)
	if got.TTL != 20*time.Minute || got.Weight != 9 || !got.Live {
		t.Errorf("listed as %+v", got)
	}
	away(record.Change{Action: record.SetTTL, TTL: 5 * time.Minute})
	away(record.Change{Action: record.SetWeight, Weight: 7})
	if after := f.Attributes(); !slices.Equal(before, after) {
		t.Errorf("before\n%s\nafter\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
}

// TestSwapOnALine: a CNAME of a line is switched in its own record, with a copy
// of the old value that says the line and the weight; the copy goes at a release
// once its value is live again, and not before.
func TestSwapOnALine(t *testing.T) {
	a, f := world(t, tencentcloudtest.Options{Lag: time.Hour})
	weight := uint32(5)
	id := f.Insert(tencentcloudtest.Record{Name: "www", Type: "CNAME", Line: "10=0", Value: "dc1.example.net.", TTL: 300, Weight: &weight, Remark: "alias"})
	before := f.Attributes()
	line := record.Key{Zone: testZone, Name: "www." + testZone, Type: record.CNAME, Variant: "电信"}
	swap := func(from, to string) {
		t.Helper()
		call := provider.Call{Key: line, Seen: list(t, a), Away: []record.Change{{Action: record.Swap, Key: line, From: from, Value: to, TTL: 300 * time.Second}}}
		a.mustTakeAway(t, call)
		if got := byID(t, f, id); got.Value != from {
			t.Fatalf("the first call made it %v", got)
		}
		f.Settle()
		call.Seen = list(t, a)
		a.mustTakeAway(t, call)
		if got := byID(t, f, id); got.Value != to || *got.Weight != 5 || got.Line != "10=0" || got.Remark != "alias" {
			t.Fatalf("the second call made it %v", got)
		}
	}
	swap("dc1.example.net.", "dc2.example.net.")
	seen := list(t, a)
	if got, _ := seen.Set(line).Find("dc1.example.net."); got.Live || !got.Paused || got.Weight != 5 || got.TTL != 300*time.Second {
		t.Errorf("the old value is listed as %+v", got)
	}
	if left := a.Remains(seen); len(left) != 0 {
		t.Errorf("the only copy of a value remains as %q", left)
	}
	swap("dc2.example.net.", "dc1.example.net.")
	for range 10 {
		done, err := a.Release(t.Context(), list(t, a), nil)
		if err != nil {
			t.Fatal(err)
		}
		if done {
			break
		}
	}
	left := slices.DeleteFunc(f.Attributes(), func(r string) bool { return strings.Contains(r, "value=dc2.example.net.") })
	if !slices.Equal(before, left) {
		t.Errorf("before\n%s\nafter\n%s", strings.Join(before, "\n"), strings.Join(left, "\n"))
	}
}

// TestReleaseMarks: marks on live records go, the words stay, and paused records
// keep theirs.
func TestReleaseMarks(t *testing.T) {
	a, f, id := pair(t, tencentcloudtest.Options{})
	f.Edit(id, func(r *tencentcloudtest.Record) { r.Remark = marked("words", time.Now()) })
	paused := f.Insert(tencentcloudtest.Record{Name: "www", Type: "A", Value: "192.0.2.3", TTL: 600, Paused: true, Remark: markAt(time.Now())})
	f.Insert(tencentcloudtest.Record{Name: "_sidestep", Type: "TXT", Value: "v=1 holder=elsewhere nonce=1", TTL: 600})
	if left := a.Remains(list(t, a)); len(left) != 2 || !strings.Contains(left[0], "the mark [sidestep ") || !strings.Contains(left[1], "the stamp in TXT _sidestep.example.com.") {
		t.Errorf("remains %q", left)
	}
	seen := list(t, a)
	f.Edit(id, func(r *tencentcloudtest.Record) { r.Paused = true }) // by another node, in the gap
	_, err := a.Release(t.Context(), seen, nil)
	failed(t, err, provider.Conflict, "no longer live")
	f.Edit(id, func(r *tencentcloudtest.Record) { r.Paused = false })
	for range 3 {
		if _, err := a.Release(t.Context(), list(t, a), nil); err != nil {
			t.Fatal(err)
		}
	}
	if r := byID(t, f, id); r.Remark != "words" {
		t.Errorf("the live record: %v", r)
	}
	if r := byID(t, f, paused); r.Remark == "" || !r.Paused {
		t.Errorf("the paused record: %v", r)
	}
	if left := a.Remains(list(t, a)); len(left) != 0 {
		t.Errorf("still there: %q", left)
	}
}

// TestLibdns: what libdns's own suite does not ask: paused records, lines, weights
// and remarks.
func TestLibdns(t *testing.T) {
	a, f, id := pair(t, tencentcloudtest.Options{})
	weight := uint32(3)
	f.Edit(id, func(r *tencentcloudtest.Record) { r.Weight = &weight })
	f.Insert(tencentcloudtest.Record{Name: "www", Type: "A", Value: "192.0.2.3", TTL: 600, Paused: true})
	f.Insert(tencentcloudtest.Record{Name: "cdn", Type: "A", Line: "10=0", Value: one, TTL: 600})
	records, err := a.GetRecords(t.Context(), testZone)
	if err != nil || len(records) != 5 {
		t.Fatalf("%d records: %v, %v", len(records), records, err)
	}
	for _, r := range records {
		if address, ok := r.(libdns.Address); ok && address.IP.String() == one && address.Name == "www" {
			if data := address.ProviderData.(Attributes); data.ID != id || data.Weight != 3 || data.Remark != "web server 1" || data.LineID != "" {
				t.Errorf("attributes %+v", data)
			}
		}
	}
	before := f.Attributes()
	address := func(name, value string) libdns.Record { return libdns.RR{Name: name, Type: "A", Data: value} }
	_, err = a.SetRecords(t.Context(), testZone, []libdns.Record{address("cdn", two)})
	failed(t, err, provider.Permanent, "on the line 电信")
	_, err = a.AppendRecords(t.Context(), testZone, []libdns.Record{address("www", "192.0.2.3")})
	failed(t, err, provider.Permanent, "resume it")
	if gone, err := a.DeleteRecords(t.Context(), testZone, []libdns.Record{address("cdn", one), libdns.RR{Name: "@", Type: "NS"}}); err != nil || len(gone) != 0 {
		t.Errorf("deleted %v, %v", gone, err)
	}
	if _, err := a.SetRecords(t.Context(), testZone, records); err != nil {
		t.Errorf("set what was got: %v", err)
	}
	if !slices.Equal(before, f.Attributes()) {
		t.Errorf("the zone is\n%s", strings.Join(f.Attributes(), "\n"))
	}
	if _, err := a.SetRecords(t.Context(), testZone, []libdns.Record{address("www", two), address("www", "192.0.2.4")}); err != nil {
		t.Fatal(err)
	}
	if r := byID(t, f, id); r.Value != "192.0.2.4" || *r.Weight != 3 || r.Remark != "web server 1" {
		t.Errorf("the record that gave its place: %v", r)
	}
	if _, err := a.GetRecords(t.Context(), "example.net."); provider.ClassOf(err) != provider.Permanent {
		t.Errorf("another zone: %v", err)
	}
}

// pagesOf are the answers that list n records.
func pagesOf(b testing.TB, n int) [][]byte {
	b.Helper()
	var pages [][]byte
	for from := 0; from < n; from += maxPage {
		var items []map[string]any
		for i := from; i < min(from+maxPage, n); i++ {
			items = append(items, map[string]any{
				"RecordId": 1700000000 + i, "Name": fmt.Sprintf("host%06d", i/2), "Type": "A", "Value": fmt.Sprintf("192.0.%d.%d", i/250%250, i%250), "Status": "ENABLE",
				"Line": "默认", "LineId": "0", "TTL": 600, "MX": 0, "Weight": nil, "Remark": "", "MonitorStatus": "", "UpdatedOn": "2026-11-30 13:05:01", "DefaultNS": false,
			})
		}
		page, err := json.Marshal(map[string]any{"Response": map[string]any{
			"RequestId": "r", "RecordCountInfo": map[string]int{"SubdomainCount": n / 2, "ListCount": len(items), "TotalCount": n}, "RecordList": items,
		}})
		if err != nil {
			b.Fatal(err)
		}
		pages = append(pages, page)
	}
	return pages
}

// BenchmarkList reads the answers that list a zone of 100,000 records.
func BenchmarkList(b *testing.B) {
	const n = 100_000
	pages := pagesOf(b, n)
	a := connect(b, provider.Settings{Zone: testZone, Secrets: map[string]provider.Secret{"secret_id": provider.NewSecret("i"), "secret_key": provider.NewSecret("k")}})
	b.ReportAllocs()
	for b.Loop() {
		builder := newBuilder(a)
		for _, page := range pages {
			var out listReply
			if err := decode(page, &out); err != nil {
				b.Fatal(err)
			}
			builder.add(&out)
		}
		s, err := builder.finish(n)
		if err != nil || len(s.Sets) != n/2 {
			b.Fatalf("%d sets, %v", len(s.Sets), err)
		}
	}
}

// sameAsTheLibrary: what the scanner reads is what the standard library reads.
func sameAsTheLibrary(t *testing.T, body []byte) {
	t.Helper()
	var fast, slow listReply
	if !scanPage(body, &fast) {
		return
	}
	if err := json.Unmarshal(body, &struct{ Response *listReply }{&slow}); err != nil {
		t.Fatalf("the library refuses %q: %v", body, err)
	}
	got, _ := json.Marshal(fast)
	want, _ := json.Marshal(slow)
	if len(fast.Records) > 0 && string(got) != string(want) {
		t.Errorf("read %s, the library %s", got, want)
	}
}

// FuzzDecode: no answer of a network makes the adapter panic, or gives a snapshot
// that has no order.
func FuzzDecode(f *testing.F) {
	f.Add(pagesOf(f, 3)[0])
	for _, seed := range []string{
		``, `{`, `null`, `{"Response":null}`, `{"Response":[]}`, `{"Response":{"RecordList":null}}`,
		`{"Response":{"RequestId":"r","RecordCountInfo":{"ListCount":1,"TotalCount":1},"RecordList":[{"RecordId":1,"Name":"*.a","Type":"CNAME","Value":"b","Status":"DISABLE","Remark":"[sidestep 2026-11-30T13:05:01Z]","LineId":"10=0"}]}}`,
		`{"Response":{"RequestId":"r","RecordList":[{"RecordId":1,"Name":"_sidestep-paused.www","Type":"TXT","Value":"v=sidestep1 type=CNAME value=b ttl=60 line=10-0 weight=999","Status":"ENABLE"},null,7]}}`,
	} {
		f.Add([]byte(seed))
	}
	a := connect(f, provider.Settings{Zone: testZone, Secrets: map[string]provider.Secret{"secret_id": provider.NewSecret("i"), "secret_key": provider.NewSecret("k")}})
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, out := range []reply{&listReply{}, &recordReply{}, &domainReply{}, &linesReply{}, &idReply{}, &answer{}} {
			_ = decode(body, out)
			page, isList := out.(*listReply)
			if !isList {
				continue
			}
			sameAsTheLibrary(t, body)
			b := newBuilder(a)
			b.add(page)
			s, err := b.finish(len(page.Records))
			if err != nil {
				t.Fatal(err)
			}
			for _, set := range s.Sets {
				for _, answer := range set.Answers {
					if got, found := set.Find(answer.Value); !found || got.Value != answer.Value {
						t.Errorf("%s %s is not found", set.Key, answer.Value)
					}
				}
			}
			_ = a.Remains(s)
		}
	})
}
