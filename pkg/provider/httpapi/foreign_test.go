package httpapi

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"sidestep/pkg/provider"
)

func TestForeign(t *testing.T) {
	key, id := provider.NewSecret("s3cr3t-key"), provider.NewSecret("key-id")
	for text, want := range map[string]string{
		"":                                    "",
		" no such zone \r\n":                  "no such zone",
		"a\nlevel=error \x1b[31mred\x00\t\tb": "a level=error [31mred b",
		"a\u202eb\u2028c\u009bd":              "a b c d",
		"caf\u00e9 \u65e5\u672c":              "caf\u00e9 \u65e5\u672c",
		"cut \xff\xfe":                        "cut ?",
		"Bearer s3cr3t-key of key-id":         "Bearer *** of ***",
	} {
		if got := Foreign(text, key, id, provider.Secret{}, provider.NewSecret("")); got != want {
			t.Errorf("%q: expected %q, got %q", text, want, got)
		}
	}
	for _, long := range []string{strings.Repeat("x", 3<<20), strings.Repeat("\u65e5", 1<<20), strings.Repeat("x", maxForeign-4) + "s3cr3t-key"} {
		got := Foreign(long, key)
		if len(got) > maxForeign+len("…") || !utf8.ValidString(got) || strings.Contains(got, "s3c") {
			t.Errorf("%d bytes made %d: %.40q", len(long), len(got), got[len(got)-20:])
		}
	}
}

func TestForeignIsOneLineOfPrintableText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		got := Foreign(string(rapid.SliceOfN(rapid.Byte(), 0, 700).Draw(t, "text")))
		if strings.ContainsFunc(got, func(r rune) bool { return r != ' ' && unseen(r) }) || !utf8.ValidString(got) || Foreign(got) != got && len(got) <= maxForeign {
			t.Fatalf("%q", got)
		}
	})
}
