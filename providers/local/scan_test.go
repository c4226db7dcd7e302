package local

import (
	"errors"
	"strings"
	"testing"
)

func words(s statement) string {
	var all []string
	for i := range s.tokens {
		all = append(all, s.word(i))
	}
	return strings.Join(all, "|")
}

func TestSplit(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"\n", ""},
		{"www A 192.0.2.1", "www|A|192.0.2.1"},
		{"www A 192.0.2.1 ; a ( \" comment\nx TXT y\n", "www|A|192.0.2.1 / x|TXT|y"},
		{"; only a comment\r\n\tA 192.0.2.1\r\n", " / A|192.0.2.1"},
		{"@ SOA ns host (\n1 ; serial\n2\n3 4 5 )\nwww A 1.2.3.4\n", "@|SOA|ns|host|1|2|3|4|5 / www|A|1.2.3.4"},
		{"@ SOA ns host(1\n2)3 4 5\n", "@|SOA|ns|host|1|2|3|4|5"},
		{`x TXT "a ; b" "c ( d" e\;f "g\"h" "i\\"` + "\n", `x|TXT|"a ; b"|"c ( d"|e\;f|"g\"h"|"i\\"`},
		{`x TXT "a""b"c` + "\n", `x|TXT|"a"|"b"|c`},
		{`x HTTPS 1 . alpn="h2, h3" port=8443` + "\n", `x|HTTPS|1|.|alpn="h2, h3"|port=8443`},
		{"x TXT a;b\n", "x|TXT|a"},
		{`a\.b A 1.2.3.4` + "\n", `a\.b|A|1.2.3.4`},
	} {
		statements, err := split(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		var got, texts []string
		for _, s := range statements {
			got, texts = append(got, words(s)), append(texts, s.text)
		}
		if text := strings.Join(got, " / "); text != c.want {
			t.Errorf("%q: got %s, want %s", c.text, text, c.want)
		}
		if strings.Join(texts, "") != c.text {
			t.Errorf("%q: the statements are not the file: %q", c.text, texts)
		}
	}
}

func TestSplitRefuses(t *testing.T) {
	for _, c := range []struct {
		text, want string
		line       int
	}{
		{"a A 1.2.3.4\nb A ( 1.2.3.4\nc A 1.2.3.4\n", "never closed", 2},
		{"a A 1.2.3.4\n\nb A 1.2.3.4 )\n", "not opened", 3},
		{"(a A 1.2.3.4)\n", "first column", 1},
		{"a TXT \"x\nb A 1.2.3.4\n", "does not end on its line", 1},
		{"a TXT ( \"x\"\n \"y\n\" )\n", "does not end on its line", 2},
		{"a TXT \"x", "does not end", 1},
		{"a TXT x\\\n", "backslash", 1},
		{"a TXT \"x\\", "backslash", 1},
		{"a TXT x\ry\n", "carriage return", 1},
		{"a TXT x\x01y\n", `\001`, 1},
		{"a\vA 1.2.3.4\n", `\011`, 1},
	} {
		_, err := split(c.text)
		var at *lineError
		if !errors.As(err, &at) || at.line != c.line || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want line %d and %q", c.text, err, c.line, c.want)
		}
	}
}

func TestRemark(t *testing.T) {
	for text, want := range map[string]string{
		"www A 192.0.2.1":                            "",
		"www A 192.0.2.1 \n":                         "",
		"www A 192.0.2.1\t ; the old box \r\n":       "\t ; the old box ",
		"www A ( 192.0.2.1 ) ; in parentheses\n":     " ; in parentheses",
		"www A ( 192.0.2.1 ; of an inner line\n )\n": "",
		"www TXT \"a ; b\"\n":                        "",
		"; alone\n":                                  "",
	} {
		s, err := scan(text, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.remark(); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// FuzzParse: whatever the text is, its statements are the text, and what was
// parsed and drafted without a change is the file byte for byte.
func FuzzParse(f *testing.F) {
	for _, text := range []string{soaAndNS, exampleZone, "$ORIGIN .\n@ 1 SOA a b (1\n2 3\n4 5)", "a TXT \"\\\"\";\n", "\\", "$TTL\n", " ()\n", "x 1h2 A 1.2.3.4\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		statements, err := split(text)
		if err != nil {
			return
		}
		var whole strings.Builder
		for _, s := range statements {
			whole.WriteString(s.text)
		}
		if whole.String() != text {
			t.Fatalf("the statements are not the text: %q", whole.String())
		}
		doc, err := parse(zone, text)
		if err != nil {
			return
		}
		again, err := doc.draft().finish()
		if err != nil || again.text != text {
			t.Fatalf("a draft without a change: %v, %q", err, doc.draft().render())
		}
		if a, b := len(doc.records()), len(again.records()); a != b {
			t.Fatalf("%d records, then %d", a, b)
		}
	})
}
