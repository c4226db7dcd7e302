package local

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// exampleZone has one of every habit that people have in zone files.
const exampleZone = `; the zone of the example
$TTL 1h
@	IN	SOA	ns.example.net. hostmaster (
		2026010100 ; serial
		1h         ; refresh
		15m 4w
		60 )
	NS	ns1.example.net.
	NS	ns2.example.net.

www	A	192.0.2.1	; first box
	A	192.0.2.2	; second box
	300 IN AAAA 2001:db8::1
	TXT	"beside; the (address)"
WWW.Example.Com. IN 3600 A 192.0.2.3
$ORIGIN sub.example.com.
@	MX	10 mail
mail	A	( 192.0.2.9
	) ; in parentheses
$ORIGIN example.com.
alias	CNAME	www
*	CNAME	alias
odd	TYPE65280 \# 3 abcdef
a\.b	A	192.0.2.7
`

func plainRecords(t *testing.T, text string) []string {
	t.Helper()
	doc, err := parse(zone, text)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	var lines []string
	for _, rr := range doc.records() {
		lines = append(lines, strings.ReplaceAll(rr.String(), "\t", " "))
	}
	return lines
}

func TestParse(t *testing.T) {
	want := `example.com. 3600 IN SOA ns.example.net. hostmaster.example.com. 2026010100 3600 900 2419200 60
example.com. 3600 IN NS ns1.example.net.
example.com. 3600 IN NS ns2.example.net.
www.example.com. 3600 IN A 192.0.2.1
www.example.com. 3600 IN A 192.0.2.2
www.example.com. 300 IN AAAA 2001:db8::1
www.example.com. 3600 IN TXT "beside; the (address)"
WWW.Example.Com. 3600 IN A 192.0.2.3
sub.example.com. 3600 IN MX 10 mail.sub.example.com.
mail.sub.example.com. 3600 IN A 192.0.2.9
alias.example.com. 3600 IN CNAME www.example.com.
*.example.com. 3600 IN CNAME alias.example.com.
odd.example.com. 3600 CLASS1 TYPE65280 \# 3 abcdef
a\.b.example.com. 3600 IN A 192.0.2.7`
	if got := strings.Join(plainRecords(t, exampleZone), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestParseInheritsTTL: without $TTL a record takes the last one that was
// spelled out; with it, what the directive says.
func TestParseInheritsTTL(t *testing.T) {
	text := "@ 60 SOA a b 1 2 3 4 5\nx A 192.0.2.1\ny 300 A 192.0.2.1\nz A 192.0.2.1\n$TTL 7\nz 9 A 192.0.2.2\nz A 192.0.2.3\n"
	var ttls []string
	for _, line := range plainRecords(t, text) {
		ttls = append(ttls, strings.Fields(line)[1])
	}
	if got := strings.Join(ttls, " "); got != "60 60 300 300 9 7" {
		t.Errorf("got the TTLs %s", got)
	}
}

// TestParseWithoutBlanksInParentheses: a line end inside parentheses parts
// words, though the library's own lexer joins them.
func TestParseWithoutBlanksInParentheses(t *testing.T) {
	got := plainRecords(t, "@ 300 IN SOA ns. host. (\n2026010100\n3600\n600\n86400\n60\n)\n")
	if want := "example.com. 300 IN SOA ns. host. 2026010100 3600 600 86400 60"; len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		line             int // 0: the error is about the whole file
	}{
		{"nothing", "", "no SOA", 0},
		{"no SOA", "$TTL 1\nwww A 192.0.2.1\n", "no SOA", 0},
		{"another zone", "@ 1 SOA a b 1 2 3 4 5\nx.example.net. 1 SOA a b 1 2 3 4 5\n", "not the file of the zone", 2},
		{"second SOA", "@ 1 SOA a b 1 2 3 4 5\n@ 1 SOA a b 1 2 3 4 5\n", "second SOA", 2},
		{"bad address", soaAndNS + "www A 192.0.2.300\n", "192.0.2.300", 4},
		{"bad data of a long record", soaAndNS + "\nx MX (\n a\n b )\n", "bad", 5},
		{"include", soaAndNS + "$INCLUDE other\n", "$INCLUDE is not supported", 4},
		{"generate", soaAndNS + "$generate 1-9 h$ A 192.0.2.$\n", "$GENERATE is not supported", 4},
		{"directive", soaAndNS + "$DATE x\n", "unknown directive", 4},
		{"empty directive", soaAndNS + "$TTL\n", "expected one value", 4},
		{"bad origin", soaAndNS + "$ORIGIN a..b\n", "not a domain name", 4},
		{"class", soaAndNS + "www CH A 192.0.2.1\n", "class CH", 4},
		{"class number", soaAndNS + "www CLASS3 A 192.0.2.1\n", "class CLASS3", 4},
		{"no type", soaAndNS + "www 300 IN\n", "expected a record type", 4},
		{"no data", soaAndNS + "www 300 IN A\n", "a record of type A without data", 4},
		{"unknown type", soaAndNS + "www 300 IN FOO bar\n", `got "FOO"`, 4},
		{"no data", soaAndNS + "www A\n", "without data", 4},
		{"TTL too large", soaAndNS + "www 2147483648 A 192.0.2.1\n", "read TTL", 4},
		{"TTL unit", soaAndNS + "www 1y A 192.0.2.1\n", "read TTL", 4},
		{"TTL mixed", soaAndNS + "www 1h30 A 192.0.2.1\n", "read TTL", 4},
		{"no TTL", "@ SOA a b 1 2 3 4 5\n", "no TTL", 1},
		{"no TTL but a class", "@ IN SOA a b 1 2 3 4 5\n", "no TTL", 1},
		{"no owner", " 300 SOA a b 1 2 3 4 5\n", "no owner", 1},
		{"too long a name", soaAndNS + strings.Repeat("a.", 130) + " A 192.0.2.1\n", "not a domain name", 4},
		{"cut off", exampleZone[:130], "never closed", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(zone, c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q in it", err, c.want)
			}
			var at *lineError
			if errors.As(err, &at) != (c.line > 0) || c.line > 0 && at.line != c.line {
				t.Errorf("got %v, want line %d", err, c.line)
			}
		})
	}
}

func TestParseTTL(t *testing.T) {
	for word, want := range map[string]uint32{"0": 0, "300": 300, "1h30m": 5400, "2W": 1209600, "1d1S": 86401, "2147483647": maxTTL} {
		if got, err := parseTTL(word); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", word, got, err, want)
		}
	}
}

// TestASnapshotHasNoRoomToSpare: it is kept until the next list, and of a zone of
// ten thousand values each is some hundred bytes.
func TestASnapshotHasNoRoomToSpare(t *testing.T) {
	var text strings.Builder
	text.WriteString(soaAndNS)
	for i := range 9 {
		fmt.Fprintf(&text, "www 60 IN A 192.0.2.%d\n", 9-i)
	}
	text.WriteString("www 60 IN A 192.0.2.1\n") // the second time
	doc, err := parse(zone, text.String())
	if err != nil {
		t.Fatal(err)
	}
	set := doc.snapshot().Sets[0]
	if len(set.Answers) != 9 || set.Answers[0].Value != "192.0.2.1" {
		t.Fatalf("%d answers: %v", len(set.Answers), set.Answers)
	}
	if room := cap(set.Answers); room > 12 {
		t.Errorf("room for %d answers is kept for 9", room)
	}
}
