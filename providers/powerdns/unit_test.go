package powerdns

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

func TestSettings(t *testing.T) {
	key := map[string]provider.Secret{"api_key": provider.NewSecret("never shown")}
	for _, row := range []struct {
		what     string
		settings provider.Settings
		want     string // of the error; empty for none
	}{
		{"all defaults", provider.Settings{Secrets: key}, ""},
		{"with the API's path", provider.Settings{Secrets: key, Options: map[string]string{"endpoint": "https://pdns.example.net/api/v1/"}}, ""},
		{"below a path", provider.Settings{Secrets: key, Options: map[string]string{"endpoint": "https://example.net/pdns"}}, ""},
		{"no key", provider.Settings{}, "api_key"},
		{"plain", provider.Settings{Secrets: key, Options: map[string]string{"endpoint": "http://192.0.2.1:8081"}}, "insecure: true"},
		{"plain and meant", provider.Settings{Secrets: key, Insecure: true, Options: map[string]string{"endpoint": "http://192.0.2.1:8081"}}, ""},
		{"no URL", provider.Settings{Secrets: key, Options: map[string]string{"endpoint": "localhost:8081"}}, "https://HOST"},
	} {
		row.settings.Zone = testZone
		a, err := New(row.settings)
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: expected %q, got %v", row.what, row.want, err)
		}
		if err != nil && strings.Contains(err.Error(), "never shown") {
			t.Errorf("%s: %v", row.what, err)
		}
		if err == nil && a.Promises().Late != time.Minute {
			t.Errorf("%s: late %v", row.what, a.Promises().Late)
		}
	}
	a, err := build(provider.Settings{Zone: "0/25.2.0.192.in-addr.arpa.", Secrets: key, Late: time.Second, Options: map[string]string{"server_id": "a b"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := a.zonePath(); got != "/api/v1/servers/a%20b/zones/0=2F25.2.0.192.in-addr.arpa." || a.Promises().Late != time.Second {
		t.Errorf("got %s", got)
	}
}

// Marks of several spellings, and what only looks like one.
func TestMarks(t *testing.T) {
	set := rrset{Type: "A", Comments: []comment{
		{Account: "alice", Content: markStart + "192.0.2.1"},
		{Account: "sidestep", Content: "paused: 192.0.2.2"},
		{Account: "sidestep", Content: markStart + "192.0.2.4,192.0.2.3,rubbish, 192.0.2.5@2026-11-30T13:05:01.250Z,x@192.0.2.6"},
		{Account: "sidestep", Content: markStart + "192.0.2.3@2026-11-30T13:05:01.250Z,192.0.2.4@"},
		{Account: "sidestep", Content: markStart},
	}}
	var words []string
	for _, m := range set.marks() {
		words = append(words, m.String())
	}
	wants(t, "the marks", words, "192.0.2.3@2026-11-30T13:05:01.250Z", "192.0.2.4", "192.0.2.5@2026-11-30T13:05:01.250Z")
	again := []mark{{value: "192.0.2.3"}, newMark("192.0.2.5", time.UnixMilli(1764507901250))}
	if got := set.remarked(again); len(got) != 3 || got[2].Content != markStart+"192.0.2.3,192.0.2.5@2025-11-30T13:05:01.250Z" || got[0] != set.Comments[0] {
		t.Errorf("got %+v", got)
	}
}

// manySets is a zone as the API lists it.
func manySets(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"account": "", "api_rectify": false, "dnssec": false, "edited_serial": 7, "id": "example.com.", "kind": "Native", "masters": [], "name": "example.com.", "rrsets": [`)
	for i := range n {
		fmt.Fprintf(&b, `{"comments": [], "name": "host-%d.example.com.", "records": [{"content": "192.0.2.%d", "disabled": false}], "ttl": 300, "type": "A"}, `, i, i%250+1)
	}
	b.WriteString(`{"comments": [], "name": "example.com.", "records": [{"content": "ns1.example.net. admin.example.net. 7 1 1 1 1", "disabled": false}], "ttl": 300, "type": "SOA"}], "serial": 7}`)
	return b.Bytes()
}

// BenchmarkList reads a zone of 100,000 records and makes its snapshot.
func BenchmarkList(b *testing.B) {
	data := manySets(100_000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		r := newBuilder(testZone, nil)
		h, err := readZone(bytes.NewReader(data), r.take, r.odd)
		if err != nil {
			b.Fatal(err)
		}
		if s := r.finish(h); len(s.Sets) != 100_000 {
			b.Fatal(len(s.Sets))
		}
	}
}

// FuzzReadZone feeds answers to the reader of lists: none may make it panic, and
// what it lists can be looked at and drawn up as a write.
func FuzzReadZone(f *testing.F) {
	f.Add(manySets(2))
	f.Add([]byte(`{"rrsets":[{"name":"www.example.com.","type":"A","ttl":60,"records":[{"content":"192.0.2.1","disabled":true}],"comments":[{"account":"sidestep","content":"v=sidestep1 paused=192.0.2.1"}]}]}`))
	f.Add([]byte(`{"rrsets":[{"name":"_sidestep-paused.www.example.com.","type":"TXT","ttl":60,"records":[{"content":"\"v=sidestep1 type=A value=192.0.2.1 ttl=60\""}]}]}`))
	f.Add([]byte(`{"rrsets":[{"name":"*.example.com.","type":"CNAME","ttl":-1,"records":{}},7,null]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := newBuilder(testZone, nil)
		h, err := readZone(bytes.NewReader(data), b.take, b.odd)
		if err != nil {
			return
		}
		snap := b.finish(h)
		for _, set := range snap.Sets {
			s := &sight{builder: newBuilder(testZone, nil), key: set.Key}
			if _, err := readZone(bytes.NewReader(data), s.take, s.odd); err != nil {
				t.Fatal(err)
			}
			d, err := newDraft("fuzz", set.Key, s, time.Time{})
			if err != nil {
				continue
			}
			for _, answer := range set.Answers {
				_ = d.apply(record.Change{Action: record.Pause, Key: set.Key, Value: answer.Value})
			}
			_, _ = d.patches()
		}
	})
}
