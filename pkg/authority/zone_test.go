package authority

import (
	"os"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"sidestep/pkg/record"
)

const head = "@ 3600 IN SOA ns hostmaster 1 3600 600 86400 60\n@ 3600 IN NS ns\n"

func exampleZone(t testing.TB) *Zone {
	t.Helper()
	text, err := os.ReadFile("testdata/example.com.zone")
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(text))
}

func parse(t testing.TB, text string) *Zone {
	t.Helper()
	z, err := ParseZone("example.com.", "test.zone", text)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestZoneRefusesAndNamesTheLine(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"syntax":             {head + "www 60 IN A not-an-address\n", "at line: 3:"},
		"include":            {head + "$INCLUDE other\n", "at line: 3:"},
		"outside":            {head + "\n; a comment\nwww.example.net. 60 IN A 192.0.2.1\n", "line 5: www.example.net. A is not inside the zone"},
		"class":              {head + "www 60 CH A 192.0.2.1\n", "line 3: www.example.com. A has class CH"},
		"ttl":                {head + "www 2147483648 IN A 192.0.2.1\n", "line 3: www.example.com. A has a TTL of 2147483648"},
		"cname after":        {head + "www 60 IN A 192.0.2.1\nwww 60 IN CNAME a\n", "line 4: www.example.com. has a CNAME and another record (CNAME)"},
		"cname before":       {head + "www 60 IN CNAME a\nwww 60 IN A 192.0.2.1\n", "line 4: www.example.com. has a CNAME and another record (A)"},
		"two cnames":         {head + "www 60 IN CNAME a\nwww 60 IN CNAME b", "line 4: www.example.com. has a CNAME"},
		"cname at apex":      {head + "@ 60 IN CNAME a\n", "line 3: example.com. has a CNAME"},
		"no soa":             {"@ 60 IN NS ns\n", "no SOA at example.com."},
		"nothing":            {"", "no SOA at example.com."},
		"no ns":              {"@ 3600 IN SOA ns hostmaster 1 3600 600 86400 60\n", "no NS at example.com."},
		"second soa":         {head + "@ 3600 IN SOA ns hostmaster 2 3600 600 86400 60\n", "line 3: example.com. has a second SOA"},
		"soa below":          {head + "a 3600 IN SOA ns hostmaster 2 3600 600 86400 60\n", "line 3: a.example.com. SOA is not at the apex"},
		"wildcard ns":        {head + "*.a 60 IN NS ns\n", "line 3: *.a.example.com. NS delegates a wildcard"},
		"dname":              {head + "a 60 IN DNAME b\n", "line 3: a.example.com. DNAME is not supported"},
		"signed":             {head + "a 60 IN NSEC b A\n", "line 3: a.example.com. NSEC belongs to a signed zone"},
		"several lines long": {head + "a 60 IN TXT (\n \"x\"\n \"y\" )\nb 60 IN NSEC c A\n", "line 6: b.example.com. NSEC"},
	} {
		t.Run(name, func(t *testing.T) {
			z, err := ParseZone("example.com.", "test.zone", c.text)
			if err == nil {
				t.Fatalf("no error, zone of %d records", len(z.records))
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "test.zone") {
				t.Errorf("error %q, want test.zone and %q in it", err, c.want)
			}
		})
	}
}

func TestZoneIsSortedOnceAndSettled(t *testing.T) {
	z := parse(t, head+`
www 300 IN A 192.0.2.10
WWW 60 IN A 192.0.2.9
www 300 IN A 192.0.2.10
a.b 60 IN A 192.0.2.1
`)
	var got []string
	for _, rr := range z.Records() {
		got = append(got, strings.ReplaceAll(rr.String(), "\t", " "))
	}
	want := []string{
		"example.com. 3600 IN SOA ns.example.com. hostmaster.example.com. 1 3600 600 86400 60",
		"example.com. 3600 IN NS ns.example.com.",
		"a.b.example.com. 60 IN A 192.0.2.1",
		"www.example.com. 60 IN A 192.0.2.9",
		"www.example.com. 60 IN A 192.0.2.10",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("records\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if z.Origin() != "example.com." || z.Serial() != 1 {
		t.Errorf("origin %s serial %d", z.Origin(), z.Serial())
	}
}

func TestZoneSharesNothingWithItsMaker(t *testing.T) {
	rrs := parse(t, head+"www 60 IN A 192.0.2.1\n").Records()
	z, err := NewZone("example.com.", rrs)
	if err != nil {
		t.Fatal(err)
	}
	before := z.Records()
	for _, rr := range append(rrs, z.Records()...) {
		rr.Header().Ttl = 7
		rr.Header().Name = "changed."
	}
	for i, rr := range z.Records() {
		if !dns.IsDuplicate(rr, before[i]) || rr.Header().Ttl != before[i].Header().Ttl {
			t.Errorf("record became %s, was %s", rr, before[i])
		}
	}
}

func TestNewZoneRefusesNil(t *testing.T) {
	if _, err := NewZone("example.com.", []dns.RR{nil}); err == nil {
		t.Error("no error for a nil record")
	}
	if _, err := NewZone(record.Name("example.com."), nil); err == nil || strings.Contains(err.Error(), "line") {
		t.Errorf("error %v, want one without a line", err)
	}
}

// The records that a zone is made of stay as they are: somebody else may read
// them at this moment.
func TestNewZoneLeavesTheRecordsAlone(t *testing.T) {
	var rrs []dns.RR
	for _, text := range []string{"example.com. 60 IN SOA ns.example.com. h.example.com. 1 2 3 4 5", "example.com. 60 IN NS ns.example.net.", "www.example.com. 60 IN A 192.0.2.1"} {
		rr, err := dns.NewRR(text)
		if err != nil {
			t.Fatal(err)
		}
		rr.Header().Rdlength = 999
		rrs = append(rrs, rr)
	}
	if _, err := NewZone("example.com.", rrs); err != nil {
		t.Fatal(err)
	}
	for _, rr := range rrs {
		if rr.Header().Rdlength != 999 {
			t.Errorf("%s was written into", rr)
		}
	}
}

func TestEscapesAreOneName(t *testing.T) {
	z := parse(t, head+`\119ww 60 IN A 192.0.2.1`+"\n")
	if f := z.lookup("www.example.com.", dns.TypeA); len(f.answer) != 1 {
		t.Errorf("a name with an escaped letter is not found: %+v", f)
	}
}

// FuzzParseZone reads any text: what is a zone must be the same zone when it is
// made again from its records.
func FuzzParseZone(f *testing.F) {
	text, err := os.ReadFile("testdata/example.com.zone")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add(head + "$GENERATE 1-3 h$ 60 IN A 192.0.2.$\n")
	f.Fuzz(func(t *testing.T, text string) {
		z, err := ParseZone("example.com.", "fuzz", text)
		if err != nil {
			return
		}
		again, err := NewZone("example.com.", z.Records())
		if err != nil {
			t.Fatal(err)
		}
		if len(again.records) != len(z.records) {
			t.Fatalf("%d records became %d", len(z.records), len(again.records))
		}
		for i, rr := range again.records {
			if rr.String() != z.records[i].String() {
				t.Errorf("%s became %s", z.records[i], rr)
			}
		}
	})
}
