package provider

import (
	"testing"

	"pgregory.net/rapid"
)

func TestTexts(t *testing.T) {
	for content, want := range map[string]string{
		`"a"`: "a", `"a" "b"`: "ab", `"a""b"`: "ab", ` "a" `: "a", `""`: "", ``: "", `"\"\\"`: `"\`, `"\065\255"`: "A\xff", `"é"`: "é",
	} {
		if got, err := ParseText(content); err != nil || got != want {
			t.Errorf("%s: expected %q, got %q, %v", content, want, got, err)
		}
	}
	for _, content := range []string{`a`, `"a`, `"a" b`, `"\`, `"\"`, `"\25"`, `"\256"`, `"\2x5"`} {
		if got, err := ParseText(content); err == nil {
			t.Errorf("%s: expected an error, got %q", content, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.Byte(), 0, 600).Draw(t, "text"))
		if got, err := ParseText(QuoteText(text)); err != nil || got != text {
			t.Fatalf("%q came back as %q, %v", text, got, err)
		}
	})
}
