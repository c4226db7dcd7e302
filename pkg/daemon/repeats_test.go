package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
)

func TestRepeatsAreSaidOnceAndCounted(t *testing.T) {
	log := &logBook{}
	r := newRepeats(slog.New(log))
	r.note("list the zone", nil, "zone", "example.com.")
	for i := range 9 {
		news := r.note("list the zone", fmt.Errorf("read udp 127.0.0.1:%d: i/o timeout", 40000+i), "zone", "example.com.")
		if news != (i == 0) {
			t.Errorf("failure %d is news: %v", i+1, news)
		}
	}
	if !r.note("list the zone", errors.New("it answered 403"), "zone", "example.com.") || !r.note("list the zone", errors.New("it answered 500"), "zone", "example.com.") {
		t.Error("another cause is no news")
	}
	if !r.note("write the zone", errors.New("it answered 500"), "zone", "example.com.") {
		t.Error("the same error of something else is no news")
	}
	r.note("list the zone", nil, "zone", "example.com.")
	r.note("list the zone", nil, "zone", "example.com.")
	want := []string{
		"ERROR cannot list the zone zone=example.com. error=read udp 127.0.0.1:40000: i/o timeout",
		"ERROR still cannot list the zone zone=example.com. failures=2 error=read udp 127.0.0.1:40001: i/o timeout",
		"ERROR still cannot list the zone zone=example.com. failures=4 error=read udp 127.0.0.1:40003: i/o timeout",
		"ERROR still cannot list the zone zone=example.com. failures=8 error=read udp 127.0.0.1:40007: i/o timeout",
		"ERROR cannot list the zone zone=example.com. error=it answered 403",
		"ERROR cannot list the zone zone=example.com. error=it answered 500",
		"ERROR cannot write the zone zone=example.com. error=it answered 500",
		"INFO can list the zone again zone=example.com. failures=11",
	}
	if got := log.with(""); !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestGistLeavesOutWhatDiffersEachTime(t *testing.T) {
	for text, want := range map[string]string{
		"dial tcp 192.0.2.1:53: connection refused": "dial tcp # connection refused",
		"request 5f0c-11d2 at 2026-03-01T00:00:00Z": "request # at #",
		"HTTP 403: code 1004":                       "HTTP 403: code 1004",
		"no answer after 9ms, (2s) tries: 3 of 0":   "no answer after # # tries: 3 of 0",
		"two  spaces": "two spaces",
		"":            "",
	} {
		if got := gistOf(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
