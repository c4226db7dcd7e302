package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/lab"
	"sidestep/providers/rfc2136/rfc2136test"
)

// realWorlds are the real servers that are tried, each with the way in which a value
// is seen to be paused there.
var realWorlds = map[string]func(t *testing.T) (w *world, paused func(value string) bool){
	"bind": func(t *testing.T) (*world, func(string) bool) { t.Helper(); return updated(t, rfc2136test.StartBIND) },
	"knot": func(t *testing.T) (*world, func(string) bool) { t.Helper(); return updated(t, rfc2136test.StartKnot) },
	"powerdns": func(t *testing.T) (*world, func(string) bool) {
		t.Helper()
		return updated(t, rfc2136test.StartPowerDNS)
	},
	"powerdns-http": disabled,
}

// updated is a world whose server takes dynamic updates.
func updated(t *testing.T, start starter) (*world, func(string) bool) {
	t.Helper()
	w := newWorld(t, start)
	return w, func(value string) bool {
		return slices.Contains(w.parked(), "v=sidestep1 type=A value="+value+" ttl=60")
	}
}

// disabled is a world whose server has a flag. Its history is logged, and the zone
// has to be in the end what it was, comments included.
func disabled(t *testing.T) (*world, func(string) bool) {
	t.Helper()
	w, fake := newPowerDNSWorld(t)
	fake.SQL("INSERT INTO comments(domain_id,name,type,modified_at,account,comment) VALUES (1,'www.example.com','A',1500000000,'alice','ask first')")
	before := fake.Attributes()
	t.Cleanup(func() {
		if after := fake.Attributes(); !slices.Equal(before, after) {
			t.Errorf("the zone was\n%s\nand is\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
		}
		t.Logf("the history of the zone:\n%s", strings.Join(fake.History(), "\n"))
	})
	return w, func(value string) bool {
		return slices.Contains(fake.Attributes(), "www.example.com. 60 A "+value+" disabled") &&
			slices.ContainsFunc(fake.Attributes(), func(line string) bool {
				return strings.HasPrefix(line, "comment www.example.com. A sidestep v=sidestep1 paused="+value+"@")
			})
	}
}

// TestFailoverAtRealServers kills one of two backends and mends it after
// sidestep lost its disk, with a sampler that never may see the name empty.
func TestFailoverAtRealServers(t *testing.T) {
	for name, start := range realWorlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, paused := start(t)
			w.failoverAndBack(paused)
		})
	}
}

func (w *world) failoverAndBack(paused func(value string) bool) {
	t := w.t
	t.Helper()
	w.write()
	a, b := ip(w.backends[0]), ip(w.backends[1])
	samples := w.sample()
	p := w.run()
	w.waitUp(2)
	before := w.records("www.example.com.", "A")

	died := time.Now()
	if err := w.backends[0].Break(lab.Refuse); err != nil {
		t.Fatal(err)
	}
	w.waitLive(b)
	took := time.Since(died)
	bound := time.Duration(w.fall)*w.interval + w.debounce
	t.Logf("the answer was without the dead address after %s; fall × interval + debounce is %s", took.Round(time.Millisecond), bound)
	if fails := w.mustStatus().Targets[0].Fails; fails < w.fall {
		t.Errorf("the answer changed after %d failures, want %d", fails, w.fall)
	}
	if !paused(a) {
		t.Errorf("the zone does not hold %s as paused; parked copies: %q", a, w.parked())
	}
	if code := p.stop(t); code != 0 {
		t.Errorf("sidestep ended with %d after SIGTERM", code)
	}

	if err := os.RemoveAll(w.state()); err != nil {
		t.Fatal(err)
	}
	w.run()
	if err := w.backends[0].Mend(); err != nil {
		t.Fatal(err)
	}
	w.waitLive(a, b)
	if after := w.records("www.example.com.", "A"); !slices.Equal(after, before) {
		t.Errorf("the records came back as %q, they were %q", after, before)
	}
	if left := w.parked(); len(left) > 0 {
		t.Errorf("parked copies are left: %q", left)
	}
	w.othersUntouched()
	samples.stop()
	t.Logf("asked %d times, empty %d times", samples.asked.Load(), samples.empty.Load())
}

// othersUntouched compares what sidestep has no business with.
func (w *world) othersUntouched() {
	w.t.Helper()
	for _, want := range []string{
		`example.com. 300 IN TXT "v=spf1 -all" "two; \"strings\""`,
		`mail.example.com. 300 IN MX 10 mx.example.net.`,
	} {
		name, rest, _ := strings.Cut(want, " ")
		kind := strings.Fields(rest)[2]
		got := w.records(name, kind)
		if !slices.Contains(got, want) {
			w.t.Errorf("the zone has %q, want %q among them", got, want)
		}
	}
}

// TestReconcileExitCodes runs the one-shot command against BIND.
func TestReconcileExitCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rfc2136test.StartBIND)
	w.write()
	expect := func(want int, word string, args ...string) {
		t.Helper()
		code, out, errOut := w.sidestep(append([]string{"reconcile"}, args...)...)
		if code != want || !strings.Contains(out+errOut, word) {
			t.Errorf("reconcile %v exited with %d, want %d and %q:\n%s%s", args, code, want, word, out, errOut)
		}
	}
	expect(0, "in sync")
	if err := w.backends[0].Break(lab.Refuse); err != nil {
		t.Fatal(err)
	}
	expect(0, "pause "+ip(w.backends[0]), "--dry-run")
	if live := w.live(); len(live) != 2 {
		t.Errorf("--dry-run wrote: %v", live)
	}
	expect(0, "verified")
	w.waitLive(ip(w.backends[1]))
	expect(0, "in sync")

	w.server.Stop()
	expect(5, "connection refused")

	text, err := os.ReadFile(w.config)
	if err != nil {
		t.Fatal(err)
	}
	typo := strings.Replace(string(text), "provider:", "provder:", 1)
	if err := os.WriteFile(w.config, []byte(typo), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(2, `provider`)
}

// TestReconcileWhileLocked finds the lock held by a process that does not
// answer on this config's socket.
func TestReconcileWhileLocked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rfc2136test.StartBIND)
	w.write()
	w.run()
	w.waitUp(2)
	text, err := os.ReadFile(w.config)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(text), "c.sock", "other.sock", 1)
	if err := os.WriteFile(w.config, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := w.sidestep("reconcile")
	if code != 4 || !strings.Contains(errOut, "held by") {
		t.Errorf("reconcile exited with %d, want 4:\n%s%s", code, out, errOut)
	}
}
