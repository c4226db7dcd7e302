package local

import (
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/record"
)

func mustParse(t testing.TB, text string) *document {
	t.Helper()
	doc, err := parse(zone, text)
	if err != nil {
		t.Fatalf("parse %q: %v", text, err)
	}
	return doc
}

func keyOf(label string, kind record.Type) record.Key {
	return record.Key{Zone: zone, Name: record.Name(label + "." + string(zone)), Type: kind}
}

// edited makes changes of one key in a text and returns the new one.
func edited(t testing.TB, text string, key record.Key, changes ...record.Change) string {
	t.Helper()
	d := mustParse(t, text).draft()
	for _, c := range changes {
		c.Key = key
		if err := (setEdit{d, key}).change(c); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
	}
	next, err := d.finish()
	if err != nil {
		t.Fatalf("%+v: %v", changes, err)
	}
	return next.text
}

// TestEditText shows what an edit does to the bytes, one habit at a time.
func TestEditText(t *testing.T) {
	www, alias := keyOf("www", record.A), keyOf("alias", record.CNAME)
	pause := func(v string) record.Change { return record.Change{Action: record.Pause, Value: v} }
	resume := func(v string) record.Change { return record.Change{Action: record.Resume, Value: v} }
	create := func(v string, ttl time.Duration) record.Change {
		return record.Change{Action: record.Create, Value: v, TTL: ttl}
	}
	const parked = "_sidestep-paused.www.example.com.\t60\tIN\tTXT\t"
	for _, c := range []struct {
		name, before, after string
		key                 record.Key
		changes             []record.Change
	}{
		{
			"pause keeps the place and the comment, and a follower is given its owner",
			"www\tA 192.0.2.1 ; first\n\tA\t192.0.2.2 ; second\n",
			parked + "\"v=sidestep1 type=A value=192.0.2.1 ttl=300\" ; first\nwww.example.com.\tA\t192.0.2.2 ; second\n",
			www, []record.Change{pause("192.0.2.1")},
		}, {
			"pause of the last of a name leaves the next name alone",
			"www\tA 192.0.2.1\n\tA\t192.0.2.2\nx A 192.0.2.9\n",
			"www\tA 192.0.2.1\n" + parked + "\"v=sidestep1 type=A value=192.0.2.2 ttl=300\"\nx A 192.0.2.9\n",
			www, []record.Change{pause("192.0.2.2")},
		}, {
			"resume takes the place of the copy, with its comment and its TTL",
			parked + "\"v=sidestep1 type=A value=192.0.2.1 ttl=77\" ; first\n; end\n",
			"www.example.com.\t77\tIN\tA\t192.0.2.1 ; first\n; end\n",
			www, []record.Change{resume("192.0.2.1")},
		}, {
			"resume takes the live siblings' TTL",
			parked + "\"v=sidestep1 type=A value=192.0.2.1 ttl=77\"\nwww 20 A 192.0.2.2\n",
			"www.example.com.\t20\tIN\tA\t192.0.2.1\nwww 20 A 192.0.2.2\n",
			www, []record.Change{resume("192.0.2.1")},
		}, {
			"create goes behind the last sibling and sets the TTL of all",
			"www A 192.0.2.1\n 1h IN A ( 192.0.2.2 ) ; second\nx A 192.0.2.9\n",
			"www 60 A 192.0.2.1\n 60 IN A ( 192.0.2.2 ) ; second\nwww.example.com.\t60\tIN\tA\t192.0.2.3\nx A 192.0.2.9\n",
			www, []record.Change{create("192.0.2.3", time.Minute)},
		}, {
			"create of a new name goes to the end, which had no line end",
			"x A 192.0.2.9",
			"x A 192.0.2.9\nwww.example.com.\t60\tIN\tA\t192.0.2.3\n",
			www, []record.Change{create("192.0.2.3", time.Minute)},
		}, {
			"create without a TTL takes the SOA's",
			"x A 192.0.2.9\n",
			"x A 192.0.2.9\nwww.example.com.\t300\tIN\tA\t192.0.2.3\n",
			www, []record.Change{create("192.0.2.3", 0)},
		}, {
			"line ends stay as the file has them",
			"www A 192.0.2.1\r\n A 192.0.2.2\r\n",
			"www A 192.0.2.1\r\nwww.example.com.\t300\tIN\tA\t192.0.2.3\r\n" + parked + "\"v=sidestep1 type=A value=192.0.2.2 ttl=300\"\r\n",
			www, []record.Change{pause("192.0.2.2"), create("192.0.2.3", 0)},
		}, {
			"a swap writes the target in its place",
			"alias\tIN CNAME\tdc1 ; was dc0\nx A 192.0.2.9\n",
			"alias\tIN CNAME\tdc2.example.net. ; was dc0\n_sidestep-paused.alias.example.com.\t60\tIN\tTXT\t\"v=sidestep1 type=CNAME value=dc1.example.com. ttl=300\"\nx A 192.0.2.9\n",
			alias, []record.Change{{Action: record.Swap, From: "dc1.example.com.", Value: "dc2.example.net."}},
		}, {
			"a value that is written twice is paused once",
			"www A 192.0.2.1\nWWW A 192.0.2.1\nwww A 192.0.2.2\n",
			parked + "\"v=sidestep1 type=A value=192.0.2.1 ttl=300\"\nwww A 192.0.2.2\n",
			www, []record.Change{pause("192.0.2.1")},
		}, {
			"a copy keeps what a zone file cannot hold",
			"www A 192.0.2.1\nwww A 192.0.2.2\n" + parked + "\"v=sidestep1 type=A value=192.0.2.1 ttl=9 weight=7\"\n",
			parked + "\"v=sidestep1 type=A value=192.0.2.1 ttl=300 weight=7\"\nwww A 192.0.2.2\n",
			www, []record.Change{pause("192.0.2.1")},
		}, {
			"a set is told from one of another letter case only by its bytes",
			"$ORIGIN EXAMPLE.com.\nWWW A 192.0.2.1\n A 192.0.2.2\n",
			"$ORIGIN EXAMPLE.com.\nWWW 5 A 192.0.2.1\n 5 A 192.0.2.2\n",
			www, []record.Change{{Action: record.SetTTL, Value: "192.0.2.1", TTL: 5 * time.Second}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.TrimPrefix(edited(t, soaAndNS+c.before, c.key, c.changes...), soaAndNS)
			if got != c.after {
				t.Errorf("got\n%s\nwant\n%s", got, c.after)
			}
		})
	}
}

// TestEditKeepsInheritedTTLs: without $TTL a line takes the TTL of the last one
// that has it, so that one which goes or comes must not change the next.
func TestEditKeepsInheritedTTLs(t *testing.T) {
	text := "@ 60 SOA a b 1 2 3 4 5\nwww 300 A 192.0.2.1\nx A 192.0.2.8\ny A 192.0.2.9\n"
	got := edited(t, text, keyOf("www", record.A), record.Change{Action: record.SetTTL, Value: "192.0.2.1", TTL: 9 * time.Second})
	want := "@ 60 SOA a b 1 2 3 4 5\nwww 9 A 192.0.2.1\nx 300 A 192.0.2.8\ny A 192.0.2.9\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestReadBackRefuses: what would not be read as it was meant is never a file.
func TestReadBackRefuses(t *testing.T) {
	text := soaAndNS + "www A 192.0.2.1\nx A 192.0.2.9\n"
	d := mustParse(t, text).draft()
	if _, err := d.readBack(text); err != nil {
		t.Errorf("the very text: %v", err)
	}
	for old, spoiled := range map[string]string{
		"www A 192.0.2.1\n": "; gone\n",
		"A 192.0.2.1\n":     "A 192.0.2.2\n",
		"x A 192.0.2.9\n":   "x A 192.0.2.9\ny A 192.0.2.9\n",
		"www A":             "www (A",
		"@ IN SOA":          ";",
		"$TTL 300":          "$TTL 301",
		"x A":               "xx A",
		"A 192.0.2.9\n":     "",
	} {
		if _, err := d.readBack(strings.Replace(text, old, spoiled, 1)); err == nil {
			t.Errorf("%q became %q, and no error", old, spoiled)
		}
	}
}

// TestCase44Text: the content of a text survives, whatever is in it.
func TestCase44Text(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("a", 300), strings.Repeat("é", 400), `with " and \ and ; in it`, " leading and trailing ", "é", "abcd", "", `\065`, "\x00\xff", "(x", "@",
	} {
		rr := newTXT("x.example.com.", 5, text)
		doc := mustParse(t, soaAndNS+rr.String()+"\n")
		got, ok := doc.statements[len(doc.statements)-1].rr.(*dns.TXT)
		if !ok || textOf(got) != text {
			t.Errorf("%q came back as %v", text, got)
		}
		for _, part := range rr.Txt {
			if n := len(textOf(&dns.TXT{Txt: []string{part}})); n > maxString {
				t.Errorf("%q: a string of %d octets", text, n)
			}
		}
	}
	for spelled, want := range map[string]string{`"ab" "cd"`: "abcd", `ab cd`: "abcd", `"\065\"\\;"`: `A"\;`, `""`: "", `"a b" c\ d`: "a bc d"} {
		doc := mustParse(t, soaAndNS+"x TXT "+spelled+"\n")
		if got := textOf(doc.statements[len(doc.statements)-1].rr); got != want {
			t.Errorf("%s: got %q, want %q", spelled, got, want)
		}
	}
}

func TestNextSerial(t *testing.T) {
	day := time.Date(2026, 3, 9, 23, 30, 0, 0, time.FixedZone("west", -3600)) // the 10th in UTC
	for serial, want := range map[uint32]uint32{
		1:          2,
		7:          8,
		4294967295: 1,
		2147483647: 2147483648,
		2026030900: 2026031000,
		2026031000: 2026031001,
		2026031099: 2026031100,
		2026031100: 2026031101, // already ahead of today: still larger
		2025123199: 2026031000,
		2025133100: 2025133101, // no month 13: a count
		2025023000: 2025023001, // no 30th of February
		1764460800: 1764460801, // seconds since 1970
		3000010100: 3000010101,
	} {
		got := nextSerial(serial, day)
		if got != want || !after(got, serial) {
			t.Errorf("%d: got %d, want %d", serial, got, want)
		}
	}
}

func TestViewSkipsWhatItCannotRead(t *testing.T) {
	doc := mustParse(t, soaAndNS+strings.Join([]string{
		`w\119w A 192.0.2.1`,
		"bücher A 192.0.2.1",
		"www A 0.0.0.0",
		"www AAAA ::ffff:192.0.2.1",
		"www.example.net. A 192.0.2.1",
		"alias CNAME \\@x.example.net.",
		"_sidestep-paused.www TXT \"v=sidestep2\"",
		"ok A ( ; one", " 192.0.2.1 )",
	}, "\n")+"\n")
	s := doc.snapshot()
	if len(s.Skipped) != 7 || s.Records != 10 || len(s.Sets) != 1 {
		t.Errorf("got %d records, %v, skipped\n%s", s.Records, s.Sets, strings.Join(s.Skipped, "\n"))
	}
	if !strings.HasPrefix(s.Skipped[2], "line 6: www A 0.0.0.0: ") {
		t.Errorf("got %q", s.Skipped[2])
	}
}

// TestCase41Spelling: one thing in many spellings is one thing.
func TestCase41Spelling(t *testing.T) {
	s := mustParse(t, soaAndNS+"WWW.Example.COM. AAAA 2001:DB8:0:0::10\nwww AAAA 2001:db8::10\nAlias CNAME LB.Example.NET.\n").snapshot()
	want := []record.Set{
		{Key: keyOf("alias", record.CNAME), Answers: []record.Answer{{Value: "lb.example.net.", TTL: 300 * time.Second, Weight: 1, Live: true}}},
		{Key: keyOf("www", record.AAAA), Answers: []record.Answer{{Value: "2001:db8::10", TTL: 300 * time.Second, Weight: 1, Live: true}}},
	}
	if len(s.Sets) != 2 || s.Sets[0].Key != want[0].Key || s.Sets[1].Key != want[1].Key ||
		len(s.Sets[1].Answers) != 1 || s.Sets[1].Answers[0] != want[1].Answers[0] || s.Sets[0].Answers[0] != want[0].Answers[0] {
		t.Errorf("got %+v", s.Sets)
	}
}

// TestCase43TrailingDots: a name is completed by the origin exactly when it has
// no final dot, and what is written has one.
func TestCase43TrailingDots(t *testing.T) {
	text := soaAndNS + "www.example.com. A 192.0.2.1\nwww.example.com A 192.0.2.2\na CNAME lb.example.net\nb CNAME lb.example.net.\n"
	sets := mustParse(t, text).snapshot().Sets
	got := map[record.Name][]string{}
	for _, s := range sets {
		got[s.Key.Name] = s.Live()
	}
	for name, want := range map[record.Name]string{
		"www.example.com.":             "192.0.2.1",
		"www.example.com.example.com.": "192.0.2.2",
		"a.example.com.":               "lb.example.net.example.com.",
		"b.example.com.":               "lb.example.net.",
	} {
		if len(got[name]) != 1 || got[name][0] != want {
			t.Errorf("%s: got %v, want %s", name, got[name], want)
		}
	}
	out := edited(t, text, keyOf("b", record.CNAME), record.Change{Action: record.Swap, From: "lb.example.net.", Value: "other.example.net."})
	if !strings.Contains(out, "b CNAME other.example.net.\n") || strings.Contains(strings.TrimPrefix(out, text), "example.com.example.com.") {
		t.Errorf("got\n%s", out)
	}
}
