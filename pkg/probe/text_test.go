package probe

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"sidestep/pkg/check"
)

func TestMasks(t *testing.T) {
	headers := []check.Header{
		{Name: "X-Short", Value: "abcd"},
		{Name: "X-Long", Value: "abcdefgh"}, // begins with the other one
		{Name: "X-Flag", Value: "1"},
		{Name: "Authorization", Value: "basic dXNlcjpodW50ZXIyMg=="}, // user:hunter22
	}
	for text, want := range map[string]string{
		"abcdefgh abcd":       "*** ***",
		"HTTP/1.1":            "HTTP/1.1",
		"no hunter22 here":    "no *** here",
		"user:hunter22":       "***",
		"say \"abcdefgh\" 1":  "say \"***\" 1",
		"dXNlcjpodW50ZXIyMg=": "dXNlcjpodW50ZXIyMg=",
	} {
		if got := masks(headers).Replace(text); got != want {
			t.Errorf("masked %q: got %q, want %q", text, got, want)
		}
	}
	if masks([]check.Header{{Name: "Accept", Value: "*/*"}}) != nil {
		t.Error("a value that is no secret makes a mask")
	}
}

func TestCleanIsPrintableBoundedAndLeavesPlainTextAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		got := clean(text)
		if len(got) > check.MaxDetail || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("clean(%q) = %q", text, got)
		}
		if again := clean(got); again != got {
			t.Fatalf("clean is not idempotent: %q, then %q", got, again)
		}
	})
	const plain = `expected "ok" \ got ~`
	if got := clean(plain); got != plain {
		t.Errorf("got %q, want it unchanged", got)
	}
	long := clean(strings.Repeat("x", 500))
	if len(long) != check.MaxDetail || !strings.HasSuffix(long, "x...") || !utf8.ValidString(long) {
		t.Errorf("got %q, want %d bytes with a mark at the end", long, check.MaxDetail)
	}
}
