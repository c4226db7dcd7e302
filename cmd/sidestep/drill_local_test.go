package main

import (
	"regexp"
	"strings"
	"sync"
	"testing"
)

// drillTime is a time of the timeline, which no test depends on.
var drillTime = regexp.MustCompile(`\d+\.\d{3}s`)

// TestREADMEDrillLocal plays what the README shows, three times, which has to print
// the same but for the times.
func TestREADMEDrillLocal(t *testing.T) {
	t.Parallel()
	block := between(t, readme(t), "    $ sidestep drill --local", "\nSo a TTL bounds what a cache keeps, and not what a connection does: that stays where")
	timeless := func(text string) string { return words(drillTime.ReplaceAllString(text, "TIME")) }
	dir := shortDir(t)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			code, out, errOut := sidestepIn(t, dir, "drill", "--local")
			if code != 0 || errOut != "" || !strings.HasPrefix(timeless(out), timeless(block)+" not tested: - ") {
				t.Errorf("exited with %d:\n%s%s\nthe README shows\n%s", code, out, errOut, block)
			}
		})
	}
	all.Go(func() {
		code, out, errOut := sidestepIn(t, dir, "drill", "--local", "--http2")
		want := strings.Replace(timeless(block), "; HTTP/1.1 ", "; HTTP/2.0 over TLS ", 1)
		if code != 0 || errOut != "" || !strings.HasPrefix(timeless(out), want) {
			t.Errorf("--http2 exited with %d:\n%s%s", code, out, errOut)
		}
	})
	all.Go(func() {
		code, out, errOut := sidestepIn(t, dir, "drill", "--local", "--tls")
		want := regexp.MustCompile(`(?s); HTTP/1.1 over TLS\n.*\n4 [^\n]*kept connection is still at A.*\n5 [^\n]* refused .*\n6 [^\n]* is at B .*\nevery row held, in this order\n`)
		if code != 0 || errOut != "" || !want.MatchString(out) {
			t.Errorf("--tls exited with %d:\n%s%s", code, out, errOut)
		}
	})
	all.Go(func() {
		code, out, errOut := sidestepIn(t, dir, "drill", "--local", "--json")
		if code != 0 || errOut != "" {
			t.Errorf("--json exited with %d: %s", code, errOut)
		}
		wantShape(t, "drill --local", out)
	})
	all.Wait()
	for _, args := range [][]string{{"drill"}, {"drill", "--http2", "www"}, {"drill", "--local", "www"}} {
		if code, out, errOut := sidestepIn(t, dir, args...); code != 2 || out != "" || !strings.Contains(errOut, "sidestep drill --help") {
			t.Errorf("%q exited with %d: %s%s", args, code, out, errOut)
		}
	}
}

func words(text string) string { return strings.Join(strings.Fields(text), " ") }
