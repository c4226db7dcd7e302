package cloudflare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/providers/cloudflare/cloudflaretest"
)

// parse reads an answer as List does.
func parse(text string) ([]wire, *parser, error) {
	var list []wire
	p := newParser(strings.NewReader(text), func(w *wire) { list = append(list, *w) })
	err := p.run()
	if err == nil && p.success {
		err = p.whole()
	}
	return list, p, err
}

func TestParserReadsWhatTheAPISends(t *testing.T) {
	const text = ` {"result_info":{"page":1,"per_page":100,"count":2,"total_count":2,"total_pages":1}, "success" : true,
	"errors":[], "messages":[{"code":1,"message":"]}\"{["}], "result":[
	{"id":"a","name":"b\u00fcro\\\"\n","type":"A","content":"192.0.2.1","ttl":3e2,"proxied":true,"comment":null,"tags":["x:y"],"settings":{"ipv4_only":true},"meta":{"deep":[[{}]]}},
	{"type":"SRV","data":{"priority":1,"target":"t"},"priority":10,"private_routing":true,"settings":{},"tags":[],"comment":"c"} ]}
`
	got, p, err := parse(text)
	if err != nil || !p.success {
		t.Fatalf("expected a list, got %v", err)
	}
	want := []wire{
		{ID: "a", Name: "büro\\\"\n", Type: "A", Content: "192.0.2.1", TTL: 300, Proxied: true, Tags: `["x:y"]`, Settings: `{"ipv4_only":true}`},
		{Type: "SRV", Data: `{"priority":1,"target":"t"}`, Priority: "10", Private: true, Comment: "c"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(wire{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestParserTakesNoPartForTheWhole(t *testing.T) {
	const info = `"result_info":{"count":1,"total_count":1},`
	whole := `{"success":true,` + info + `"result":[{"id":"a"}]}`
	if _, _, err := parse(whole); err != nil {
		t.Fatalf("%s: %v", whole, err)
	}
	for cut := range whole {
		if _, _, err := parse(whole[:cut]); err == nil {
			t.Errorf("%s: expected an error", whole[:cut])
		}
	}
	for _, text := range []string{
		"null", "[]", "true", `"x"`, "{}x", whole + "{}", "\xef\xbb\xbf" + whole, "<html>", "\x1f\x8b",
		`{"success":true,"result":[]}`,
		`{"success":true,"result":null,"result_info":{"total_count":0}}`,
		`{"success":true,"result":{},"result_info":{"total_count":0}}`,
		`{"success":true,"result":[],"result_info":null}`,
		`{"success":true,"result":[],"result_info":{}}`,
		`{"success":true,"result":[],"result_info":{"total_count":1}}`,
		`{"success":true,"result":[],"result_info":{"total_count":-1}}`,
		`{"success":true,"result":[],"result_info":{"total_count":"0"}}`,
		`{"success":true,"result":[{"id":"a"}],"result_info":{"count":0,"total_count":1}}`,
		`{"success":true,"result":[],"result":[],"result_info":{"total_count":0}}`,
		`{"success":true,` + info + info + `"result":[{"id":"a"}]}`,
		`{"success":"true","result":[],"result_info":{"total_count":0}}`,
		`{"success":true,` + info + `"result":[{"id":"a"},]}`,
		`{"success":true,` + info + `"result":[{"id" "a"}]}`,
		`{"success":true,` + info + `"result":[{"ttl":01}]}`,
		`{"success":true,` + info + `"result":[{"ttl":nul}]}`,
		`{"success":true,` + info + `"result":[` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `]}`,
		`{"success":true,` + info + `"result":[{"id":"a` + "\n" + `"}]}`,
	} {
		if _, p, err := parse(text); err == nil && p.success {
			t.Errorf("%s: expected an error", text)
		}
	}
}

func TestParserKeepsWhatIsStrange(t *testing.T) {
	got, _, err := parse(`{"success":true,"result":[null,[1],{"id":7},{"ttl":"x"},{"ttl":-1},{"ttl":1.5},{"proxied":"yes"},{"name":{"a":1}}],"result_info":{"total_count":8}}`)
	if err != nil || len(got) != 8 {
		t.Fatalf("expected eight records, got %v, %v", got, err)
	}
	for i, w := range got {
		if w.odd == "" {
			t.Errorf("record %d is taken for a good one: %+v", i, w)
		}
	}
}

func TestTextsAreBytes(t *testing.T) {
	long := strings.Repeat("a", 255) + "b\"\\\x00é"
	for _, text := range []string{"", "x", `a "quoted" \ word`, long, strings.Repeat("x", 600), "\xff\x01"} {
		if got := unquote(provider.QuoteText(text)); got != text {
			t.Errorf("%q came back as %q by %s", text, got, provider.QuoteText(text))
		}
	}
	for content, want := range map[string]string{
		`plain text`: `plain text`, `"a" "b"`: "ab", `"a""b"`: "ab", `"\065\"\\"`: `A"\`, `"open`: `"open`, `"a" b`: `"a" b`, `"\999"`: `"\999"`, `"x\`: `"x\`,
	} {
		if got := unquote(content); got != want {
			t.Errorf("%s: got %q, want %q", content, got, want)
		}
	}
}

// FuzzList feeds answers to the reader of lists: none may make it panic, one that
// the standard library does not take is no list, and what is listed can be
// written.
func FuzzList(f *testing.F) {
	const end = `],"success":true,"errors":[],"result_info":{"count":1,"total_count":1}}`
	for _, r := range []string{
		`{"id":"a","name":"www.example.com","type":"A","content":"192.0.2.1","ttl":1,"proxied":true,"tags":["a:b"]}`,
		`{"id":"b","name":"_sidestep-paused.alias.example.com","type":"TXT","content":"\"v=sidestep1 type=CNAME value=a.example.net. ttl=60 comment=x+y\"","ttl":60}`,
		`{"id":"c","name":"_sidestep.example.com","type":"TXT","content":"\"v=1 holder=a at=1 epoch=1 seq=1 nonce=ff\"","ttl":60}`,
		`{"id":"d","name":"alias.example.com","type":"CNAME","content":"b.example.net","ttl":300}`,
		`{"id":1,"name":null,"type":"A","content":"::","ttl":"x"}`, `null`,
	} {
		f.Add(`{"result":[` + r + end)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b := newBuilder(testZone, "z")
		p := newParser(strings.NewReader(text), b.add)
		if err := p.run(); err != nil || p.whole() != nil {
			return
		}
		snap := b.finish()
		a := &Adapter{zone: testZone}
		_ = a.Remains(snap)
		snap.Stamps = []provider.Stamp{{Native: "s"}}
		for _, set := range snap.Sets {
			for _, answer := range set.Answers {
				for _, action := range []record.Action{record.Create, record.Resume, record.Pause} {
					change := record.Change{Action: action, Key: set.Key, Value: answer.Value}
					call := provider.Call{Key: set.Key, Seen: snap, Next: provider.Stamp{Nonce: "next"}}
					d, err := a.draw("fuzz", call, []record.Change{change})
					if err != nil {
						continue
					}
					if _, err := json.Marshal(d.batch); err != nil {
						t.Fatalf("%+v was listed and cannot be written: %v", answer, err)
					}
				}
			}
		}
	})
}

// FuzzScanner compares with the standard library: what that takes for JSON is
// read, to the same texts.
func FuzzScanner(f *testing.F) {
	for _, text := range []string{`{"a":[1,2.5e3,true,null,"x\u0041"]}`, `[]`, `"é\n"`, `{"a" :1}`, `-0`, `[[],{}]`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := newScanner(strings.NewReader(text + " "))
		raw, err := s.value()
		if json.Valid([]byte(text)) && strings.Count(text, "[")+strings.Count(text, "{") < maxDepth {
			var want bytes.Buffer
			if e := json.Compact(&want, []byte(text)); e != nil {
				t.Fatal(e)
			}
			if err != nil || string(raw) != want.String() {
				t.Fatalf("%q: got %q, %v, want %q", text, raw, err, want.String())
			}
		}
	})
}

// BenchmarkList lists a zone of 100,000 records from the wire to the snapshot.
func BenchmarkList(b *testing.B) {
	fake := cloudflaretest.Start(b, cloudflaretest.Options{})
	fake.Fill(100_000)
	body := fake.ListBody()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		builder := newBuilder(testZone, "z")
		p := newParser(bytes.NewReader(body), builder.add)
		if err := p.run(); err != nil {
			b.Fatal(err)
		}
		if err := p.whole(); err != nil {
			b.Fatal(err)
		}
		if snap := builder.finish(); len(snap.Sets) != 50_000 {
			b.Fatal(fmt.Sprint(len(snap.Sets)))
		}
	}
}
