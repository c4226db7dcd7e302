package record

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseName(t *testing.T) {
	for in, want := range map[string]string{
		"example.com":           "example.com.",
		"example.com.":          "example.com.",
		" WWW.Example.COM. ":    "www.example.com.",
		"*.example.com":         "*.example.com.",
		"_acme-challenge.a.b":   "_acme-challenge.a.b.",
		"bücher.example":        "xn--bcher-kva.example.",
		"XN--BCHER-KVA.EXAMPLE": "xn--bcher-kva.example.",
		"faß.example":           "xn--fa-hia.example.",
		"com":                   "com.",
	} {
		got, err := ParseName(in)
		if err != nil || string(got) != want {
			t.Errorf("ParseName(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", ".", "a..b", "a.*.b", "*a.b", "a b.example", "a/b.example", `a\.b.example`,
		strings.Repeat("a", 64) + ".example", strings.Repeat("abcdefg.", 32) + "example",
	} {
		if got, err := ParseName(in); err == nil {
			t.Errorf("ParseName(%q) = %q, want an error", in, got)
		}
	}
}

func TestParseNameIn(t *testing.T) {
	const zone = Name("example.com.")
	for in, want := range map[string]string{
		"":                          "example.com.",
		"@":                         "example.com.",
		"www":                       "www.example.com.",
		"*":                         "*.example.com.",
		"www.example.com":           "www.example.com.",
		"www.example.com.":          "www.example.com.",
		"Example.Com":               "example.com.",
		"a.example.net.example.com": "a.example.net.example.com.",
	} {
		got, err := ParseNameIn(in, zone)
		if err != nil || string(got) != want {
			t.Errorf("ParseNameIn(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"notexample.com", "notexample.com.", "a.example.net", "www.", "a..b"} {
		if got, err := ParseNameIn(in, zone); err == nil {
			t.Errorf("ParseNameIn(%q) = %q, want an error", in, got)
		}
	}
}

func TestNameParts(t *testing.T) {
	const zone = Name("example.com.")
	www := Name("www.example.com.")
	if !www.In(zone) || !zone.In(zone) || Name("notexample.com.").In(zone) || zone.In(www) || !www.In(".") {
		t.Error("In compares whole labels")
	}
	if got := www.Relative(zone); got != "www" {
		t.Errorf("Relative = %q", got)
	}
	if got := zone.Relative(zone); got != "@" {
		t.Errorf("Relative of the apex = %q", got)
	}
	if got := www.Below("_x"); got != "_x.www.example.com." {
		t.Errorf("Below = %q", got)
	}
	if got, ok := www.Parent(); !ok || got != zone {
		t.Errorf("Parent = %q, %v", got, ok)
	}
	if _, ok := Name("com.").Parent(); ok {
		t.Error("a top-level domain has a parent")
	}
	if !Name("*.example.com.").Wildcard() || www.Wildcard() {
		t.Error("Wildcard looks at the first label")
	}
	if got := www.Unrooted(); got != "www.example.com" {
		t.Errorf("Unrooted = %q", got)
	}
}

// TestNamesStayWhatTheyAre: what was parsed once is parsed again to the same,
// in any letter case and with or without the final dot.
func TestNamesStayWhatTheyAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name, err := ParseName(rapid.StringMatching(`[a-zA-Z0-9äöß_*-]{1,12}(\.[a-z0-9-]{1,10}){0,3}\.?`).Draw(t, "name"))
		if err != nil {
			return
		}
		for _, again := range []string{string(name), strings.ToUpper(string(name)), name.Unrooted()} {
			if got, err := ParseName(again); err != nil || got != name {
				t.Fatalf("ParseName(%q) = %q, %v; want %q", again, got, err, name)
			}
		}
	})
}

// TestPlainNamesNeedNoTables: what is taken as it is would come back from the
// tables of Unicode as it is.
func TestPlainNamesNeedNoTables(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9_-]{1,66}(\.[a-z0-9_-]{0,5}){0,3}`).Draw(t, "name")
		if !plain(name) {
			return
		}
		for label := range strings.SplitSeq(name, ".") {
			if got, err := parseLabel(label, false); err != nil || got != label {
				t.Fatalf("%q in %q becomes %q, %v", label, name, got, err)
			}
		}
	})
}

func FuzzParseName(f *testing.F) {
	f.Add("www.example.com.")
	f.Add("*.Bücher.example")
	f.Fuzz(func(t *testing.T, in string) {
		name, err := ParseName(in)
		if err != nil {
			return
		}
		if again, err := ParseName(string(name)); err != nil || again != name {
			t.Fatalf("ParseName(%q) = %q, and of that %q, %v", in, name, again, err)
		}
	})
}

// TestCase42BothFormsAreShown: a person reads Unicode, and pastes A-labels.
func TestCase42BothFormsAreShown(t *testing.T) {
	for name, want := range map[Name]string{
		"www.example.com.":                  "www.example.com.",
		"*.xn--bcher-kva.example.":          "*.xn--bcher-kva.example. (*.bücher.example.)",
		"_x.xn--strae-oqa.example.":         "_x.xn--strae-oqa.example. (_x.straße.example.)",
		"xn--not-an-a-label-9.example.com.": "xn--not-an-a-label-9.example.com.",
	} {
		if got := name.Shown(); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	key := Key{Zone: "xn--bcher-kva.example.", Name: "xn--bcher-kva.example.", Type: A, Variant: "x"}
	if got, want := key.Shown(), "xn--bcher-kva.example. (bücher.example.) A [x]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
