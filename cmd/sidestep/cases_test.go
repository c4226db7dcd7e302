package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/lab"
	"sidestep/providers/rfc2136/rfc2136test"
)

// TestCase76UnreadableZoneIsNeverWritten gives the one-shot command a zone whose
// list cannot be had although updates would be taken.
func TestCase76UnreadableZoneIsNeverWritten(t *testing.T) {
	t.Parallel()
	wrongSecret := rfc2136test.Key{Name: "test.", Algorithm: "hmac-sha256", Secret: "d3Jvbmcgd3Jvbmcgd3Jvbmcgd3Jvbmcgd3Jvbmcgd3I="}
	unknownKey := rfc2136test.TestKey
	unknownKey.Name = "stranger."
	for _, row := range []struct {
		name  string
		word  string // the reason, in the one line that says it
		zone  rfc2136test.Zone
		key   *rfc2136test.Key // another key than the server's
		fault rfc2136test.Fault
	}{
		{name: "refused", word: "REFUSED", zone: rfc2136test.Zone{NoTransfer: true}},
		{name: "not the zone", word: "NOTAUTH", zone: rfc2136test.Zone{Name: "example.org."}},
		{name: "wrong secret", word: "BADSIG", key: &wrongSecret},
		{name: "unknown key", word: "BADKEY", key: &unknownKey},
		{name: "cut transfer", word: "transfer", fault: rfc2136test.CutTransfer},
		{name: "empty transfer", word: "transfer", fault: rfc2136test.EmptyTransfer},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var proxy *rfc2136test.Proxy
			w := newWorld(t, func(t testing.TB, zone rfc2136test.Zone) *rfc2136test.Server {
				zone.NoTransfer = row.zone.NoTransfer
				if row.zone.Name != "" {
					zone.Name = row.zone.Name
					zone.Text = strings.ReplaceAll(zone.Text, "$ORIGIN example.com.", "$ORIGIN "+zone.Name)
				}
				server := rfc2136test.StartBIND(t, zone)
				proxy = rfc2136test.StartProxy(t, server)
				return server
			})
			w.upstream = proxy.Addr
			if row.key != nil {
				w.server.Key = *row.key
			}
			w.write()
			if err := w.backends[0].Break(lab.Refuse); err != nil {
				t.Fatal(err)
			}
			for range 5 { // a list is tried again before the command gives up
				if row.fault != 0 {
					proxy.Fault(row.fault)
				}
			}
			code, out, errOut := w.sidestep("reconcile")
			if code != 5 {
				t.Errorf("reconcile exited with %d, want 5:\n%s%s", code, out, errOut)
			}
			if !saysInOneLine(errOut, row.word) {
				t.Errorf("no line of the error says %q:\n%s", row.word, errOut)
			}
			if n := proxy.Updates(); n != 0 {
				t.Errorf("%d updates were sent", n)
			}
		})
	}
}

// saysInOneLine reports whether one line of an error is sidestep's and has the
// word in it.
func saysInOneLine(text, word string) bool {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "sidestep: ") && strings.Contains(line, word) {
			return true
		}
	}
	return false
}

// TestCase78OneZoneInTroubleStopsNoOther runs two zones, of which the first
// takes connections and says nothing, and fails over in the second.
func TestCase78OneZoneInTroubleStopsNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rfc2136test.StartBIND)
	hung := newWorld(t, rfc2136test.StartKnot)
	proxy := rfc2136test.StartProxy(t, hung.server)
	w.write()
	text, err := os.ReadFile(w.config)
	if err != nil {
		t.Fatal(err)
	}
	key := hung.server.Key
	both := strings.Replace(string(text), "zones:\n", fmt.Sprintf(
		"zones:\n  - {zone: example.net, provider: rfc2136, server: %q, tsig: {name: %s, algorithm: %s, secret: %s}}\n",
		proxy.Addr, key.Name, key.Algorithm, key.Secret), 1)
	both += fmt.Sprintf("  - {name: www.example.net, check: web, answers: [%s, %s]}\n", ip(w.backends[0]), ip(w.backends[1]))
	if err := os.WriteFile(w.config, []byte(both), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		proxy.Fault(rfc2136test.HangTransfer)
	}
	p := w.run()
	w.wait("the targets to be up", func() bool {
		s := w.status()
		return s != nil && len(s.Targets) == 2 && s.Targets[0].Verdict == "up" && s.Targets[1].Verdict == "up"
	})
	died := time.Now()
	if err := w.backends[0].Break(lab.Refuse); err != nil {
		t.Fatal(err)
	}
	w.waitLive(ip(w.backends[1]))
	t.Logf("failed over in %s beside a zone that hangs", time.Since(died).Round(time.Millisecond))
	if took := time.Since(died); took > 9*time.Second {
		t.Errorf("the failover took %s: it waited for the zone that hangs", took)
	}
	w.wait("the trouble to be in status", func() bool {
		s := w.status()
		return s != nil && slices.ContainsFunc(s.Zones, func(z control.Zone) bool { return z.Zone == "example.net." && z.Error != "" })
	})
	if code := p.stop(t); code != 0 {
		t.Errorf("sidestep ended with %d", code)
	}
}

// TestCase96StoppedInTheMiddleOfAWrite ends the daemon by SIGTERM at random
// moments of a failover whose every message is slow.
func TestCase96StoppedInTheMiddleOfAWrite(t *testing.T) {
	t.Parallel()
	w, k := killWorld(t)
	w.extra = "guard: {max_writes: 0}"
	w.write()
	k.slow(100 * time.Millisecond)
	samples := w.sample()
	a, b := ip(w.backends[0]), ip(w.backends[1])
	for round := range 8 {
		if err := w.backends[0].Break(lab.Refuse); err != nil {
			t.Fatal(err)
		}
		p := w.run()
		w.wait("the socket: before that a signal ends the process as any other", func() bool {
			_, err := os.Stat(w.socket())
			return err == nil
		})
		time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond) // any moment will do
		began := time.Now()
		if code := p.stop(t); code != 0 {
			t.Fatalf("round %d: sidestep ended with %d", round, code)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("round %d: it took %s to end", round, took)
		}
		if code, out, errOut := w.sidestep("reconcile"); code != 0 {
			t.Fatalf("round %d: reconcile afterwards exited with %d; the lock has to be free:\n%s%s", round, code, out, errOut)
		}
		w.waitLive(b)
		if err := w.backends[0].Mend(); err != nil {
			t.Fatal(err)
		}
		if code, out, errOut := w.sidestep("reconcile"); code != 0 {
			t.Fatalf("round %d: reconcile exited with %d:\n%s%s", round, code, out, errOut)
		}
		w.waitLive(a, b)
		if parked := w.parked(); len(parked) > 0 {
			t.Errorf("round %d: left parked: %q", round, parked)
		}
	}
	samples.stop()
}

// TestCase97NobodyReadsTheLog fails over with a log whose reader stalls, and
// with one whose reader is gone.
func TestCase97NobodyReadsTheLog(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} {
		t.Run(fmt.Sprintf("gone %v", gone), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, rfc2136test.StartBIND)
			w.write()
			p := w.runTo(fullPipe(t, gone), "--log-level", "debug")
			w.waitUp(2)
			if err := w.backends[0].Break(lab.Refuse); err != nil {
				t.Fatal(err)
			}
			w.waitLive(ip(w.backends[1]))
			if code := p.stop(t); code != 0 {
				t.Errorf("sidestep ended with %d", code)
			}
		})
	}
}

// fullPipe is the writing end of a pipe that takes nothing more; gone means that
// the reading end is closed.
func fullPipe(t *testing.T, gone bool) *os.File {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = writer.Close() })
	if gone {
		_ = reader.Close()
		return writer
	}
	t.Cleanup(func() { _ = reader.Close() })
	if err := writer.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	_, err = writer.Write(make([]byte, 1<<20))
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the pipe took everything: %v", err)
	}
	return writer
}
