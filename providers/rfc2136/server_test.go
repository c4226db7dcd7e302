package rfc2136

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/providers/rfc2136/rfc2136test"
)

var wwwA = record.Key{Zone: testZone, Name: "www.example.com.", Type: record.A}

const wwwZone = bareZone + "www 60 IN A 192.0.2.10\nwww 60 IN A 192.0.2.20\n"

// failed checks the class and code of an error and that its text has a part.
func failed(t *testing.T, err error, class provider.Class, code, part string) {
	t.Helper()
	var typed *provider.Error
	if !errors.As(err, &typed) {
		t.Fatalf("expected a *provider.Error, got %T: %v", err, err)
	}
	if typed.Class != class || typed.Code != code || !strings.Contains(err.Error(), part) {
		t.Fatalf("expected class %v, code %q and %q in the text, got class %v, code %q: %v", class, code, part, typed.Class, typed.Code, err)
	}
}

func stamp(n int) provider.Stamp {
	return provider.Stamp{Holder: "mon-1", At: time.Unix(1764460800, 0), Epoch: 1, Seq: uint64(n), Nonce: fmt.Sprintf("%016x", n)}
}

// listed is a list by the holder of a fresh stamp.
func listed(t *testing.T, a *Adapter) *provider.Snapshot {
	t.Helper()
	seen, err := a.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Claim(t.Context(), seen, stamp(seen.Records*1000), nil); err != nil {
		t.Fatal(err)
	}
	if seen, err = a.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	return seen
}

func pauseOf(seen *provider.Snapshot, value, survivor string) provider.Call {
	return provider.Call{
		Key: wwwA, Seen: seen, Next: stamp(77), Survivors: []string{survivor},
		Away: []record.Change{{Action: record.Pause, Key: wwwA, Value: value}},
	}
}

func TestCase75SkewIsNamedInSeconds(t *testing.T) {
	onEach(t, rfc2136test.Zone{Text: wwwZone}, func(t *testing.T, s *rfc2136test.Server) {
		a := connect(t, s)
		seen := listed(t, a)
		for _, skew := range []time.Duration{6 * time.Minute, -6 * time.Minute} {
			way := "ahead of it"
			if skew < 0 {
				way = "behind it"
			}
			a.now = func() time.Time { return time.Now().Add(skew) }
			_, listErr := a.List(t.Context())
			if isPowerDNS(t) { // it does not say what is wrong with a signature
				failed(t, listErr, provider.Permanent, "NOTAUTH", "clock that is wrong by more than 10 s")
				failed(t, a.Claim(t.Context(), seen, stamp(5), nil), provider.Permanent, "REFUSED", "clock that is wrong by more than 10 s")
				continue
			}
			for what, err := range map[string]error{
				"list": listErr, "take away": a.TakeAway(t.Context(), pauseOf(seen, "192.0.2.10", "192.0.2.20")),
				"claim": a.Claim(t.Context(), seen, stamp(5), nil), "prove": a.Prove(t.Context(), seen, stamp(6), nil),
			} {
				failed(t, err, provider.Retryable, "BADTIME", "the clock here differs by about 3")
				if !strings.Contains(err.Error(), way) || strings.Contains(err.Error(), "wrong key") {
					t.Errorf("%s: expected %q in %v", what, way, err)
				}
				var typed *provider.Error
				if errors.As(err, &typed); typed.After < 30*time.Second {
					t.Errorf("%s: a clock is not mended by trying again after %v", what, typed.After)
				}
			}
		}
		a.now = time.Now
		if err := a.TakeAway(t.Context(), pauseOf(seen, "192.0.2.10", "192.0.2.20")); err != nil {
			t.Errorf("after the clock was set: expected success, got %v", err)
		}
	})
}

// The fudge is what bounds a late update: a message that was signed eleven
// seconds ago is refused.
func TestUpdateOlderThanTheFudgeIsRefused(t *testing.T) {
	onEach(t, rfc2136test.Zone{Text: wwwZone}, func(t *testing.T, s *rfc2136test.Server) {
		a := connect(t, s)
		seen := listed(t, a)
		a.now = func() time.Time { return time.Now().Add(-fudge - 2*time.Second) }
		class, code, text := provider.Retryable, "BADTIME", "differs by about 1"
		if isPowerDNS(t) {
			class, code, text = provider.Permanent, "REFUSED", "clock"
		}
		failed(t, a.TakeAway(t.Context(), pauseOf(seen, "192.0.2.10", "192.0.2.20")), class, code, text)
		if got := s.Short("www.example.com.", "A"); len(got) != 2 {
			t.Errorf("the refused update was applied: %v", got)
		}
	})
}

func TestRefusals(t *testing.T) {
	onEach(t, rfc2136test.Zone{Text: wwwZone}, func(t *testing.T, s *rfc2136test.Server) {
		seen := listed(t, connect(t, s))
		for _, row := range []struct {
			what  string
			spoil func(*provider.Settings)
			codes []string
			hint  string
		}{
			{"unknown key", func(o *provider.Settings) { o.Options["tsig.name"] = "other." }, []string{"BADKEY"}, "tsig.name"},
			{"wrong secret", func(o *provider.Settings) {
				o.Secrets["tsig.secret"] = provider.NewSecret("d3JvbmcgZm9yIHN1cmU=")
			}, []string{"BADSIG"}, "tsig.secret"},
			{"wrong algorithm", func(o *provider.Settings) { o.Options["tsig.algorithm"] = "hmac-sha512" }, []string{"BADKEY"}, "tsig.algorithm"},
			{"unknown zone", func(o *provider.Settings) { o.Zone = "example.org." }, []string{"NOTAUTH", "REFUSED"}, "zone"},
		} {
			if isPowerDNS(t) {
				row.codes = append(row.codes, "NOTAUTH", "REFUSED")
			}
			t.Run(row.what, func(t *testing.T) {
				options := settings(s)
				row.spoil(&options)
				a, err := build(options)
				if err != nil {
					t.Fatal(err)
				}
				_, listErr := a.List(t.Context())
				view := *seen
				view.Zone = a.zone
				for what, err := range map[string]error{"list": listErr, "claim": a.Claim(t.Context(), &view, stamp(9), nil)} {
					var typed *provider.Error
					if !errors.As(err, &typed) || typed.Class != provider.Permanent || !slices.Contains(row.codes, typed.Code) || !strings.Contains(typed.Hint, row.hint) {
						t.Errorf("%s: expected Permanent %v with a hint about %s, got %v", what, row.codes, row.hint, err)
					}
				}
			})
		}
	})
}

func TestForbidden(t *testing.T) {
	onEach(t, rfc2136test.Zone{Text: wwwZone, NoUpdate: true}, func(t *testing.T, s *rfc2136test.Server) {
		a := connect(t, s)
		seen, err := a.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		call := pauseOf(seen, "192.0.2.10", "192.0.2.20")
		for _, err := range []error{a.TakeAway(t.Context(), call), a.Claim(t.Context(), seen, stamp(1), nil), a.Prove(t.Context(), seen, stamp(2), nil)} {
			var typed *provider.Error
			if !errors.As(err, &typed) || typed.Class != provider.Permanent || !strings.Contains(typed.Hint, "update") {
				t.Errorf("expected Permanent with a hint about updates, got %v", err)
			}
		}
	})
}

// A transfer that is refused while updates work must not be read as a zone
// without records.
func TestCase76RefusedTransferIsNoZone(t *testing.T) {
	onEach(t, rfc2136test.Zone{Text: wwwZone, NoTransfer: true}, func(t *testing.T, s *rfc2136test.Server) {
		proxy := rfc2136test.StartProxy(t, s)
		seen, err := connectTo(t, s, proxy.Addr).List(t.Context())
		if seen != nil {
			t.Fatalf("got a snapshot: %+v", seen)
		}
		var typed *provider.Error
		if !errors.As(err, &typed) || typed.Class != provider.Permanent || !strings.Contains(typed.Hint, "transfer") {
			t.Errorf("expected Permanent with a hint about transfers, got %v", err)
		}
		if proxy.Updates() != 0 || proxy.Transfers() != 1 {
			t.Errorf("expected one transfer and no update, got %d and %d", proxy.Transfers(), proxy.Updates())
		}
	})
}

// bigZone needs several messages to be transferred.
func bigZone() string {
	var text strings.Builder
	text.WriteString(wwwZone)
	for i := range 6000 {
		fmt.Fprintf(&text, "host-with-a-long-name-%d 300 IN TXT \"%s\"\n", i, strings.Repeat("x", 60))
	}
	return text.String()
}

func TestCase76CutTransferIsNoZone(t *testing.T) {
	onEach(t, rfc2136test.Zone{Text: bigZone()}, func(t *testing.T, s *rfc2136test.Server) {
		proxy := rfc2136test.StartProxy(t, s)
		a := connectTo(t, s, proxy.Addr)
		for _, fault := range []rfc2136test.Fault{rfc2136test.CutTransfer, rfc2136test.CutBetween, rfc2136test.EmptyTransfer} {
			proxy.Fault(fault)
			seen, err := a.List(t.Context())
			if seen != nil || provider.ClassOf(err) != provider.Retryable {
				t.Errorf("fault %d: expected no snapshot and a Retryable error, got %v and %v", fault, seen, err)
			}
		}
		seen, err := a.List(t.Context())
		if err != nil || seen.Records != 6000+4 {
			t.Fatalf("expected all 6004 records, got %v and %v", seen, err)
		}
		if got := seen.Set(wwwA).Live(); !slices.Equal(got, []string{"192.0.2.10", "192.0.2.20"}) {
			t.Errorf("www: got %v", got)
		}
	})
}

func TestListHonoursItsDeadline(t *testing.T) {
	s := rfc2136test.StartBIND(t, rfc2136test.Zone{Name: testZone, Text: wwwZone})
	proxy := rfc2136test.StartProxy(t, s)
	a := connectTo(t, s, proxy.Addr)
	for range 20 { // a leaked connection or goroutine of each would be seen by goleak
		proxy.Fault(rfc2136test.HangTransfer)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := a.List(ctx)
		cancel()
		failed(t, err, provider.Retryable, "", "")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("expected the deadline as the reason, got %v", err)
		}
	}
}

func TestForgedReplyIsAmbiguous(t *testing.T) {
	onEach(t, rfc2136test.Zone{Text: wwwZone}, func(t *testing.T, s *rfc2136test.Server) {
		proxy := rfc2136test.StartProxy(t, s)
		a := connectTo(t, s, proxy.Addr)
		call := pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")
		proxy.Fault(rfc2136test.ForgedReply)
		failed(t, a.TakeAway(t.Context(), call), provider.Ambiguous, "TSIG", "signature is wrong")
	})
}

func TestNobodyListens(t *testing.T) {
	const addr = "127.0.0.1:1" // nobody gets this port by chance
	a, err := build(provider.Settings{Zone: testZone, Options: map[string]string{"server": addr}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.List(t.Context())
	failed(t, err, provider.Retryable, "", "transfer zone example.com. from "+addr)
	b := newBuilder(testZone)
	b.apex = true
	seen, err := b.finish()
	if err != nil {
		t.Fatal(err)
	}
	failed(t, a.Claim(t.Context(), seen, stamp(1), nil), provider.Retryable, "", "refused")
}

// A busy zone: the SOA that was listed is gone, the set is as it was.
func TestSerialGuardsTheTTLAndLooseDoesWithout(t *testing.T) {
	onEach(t, rfc2136test.Zone{Text: wwwZone}, func(t *testing.T, s *rfc2136test.Server) {
		a := connect(t, s)
		call := pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")
		h := &hand{t: t, server: s}
		m := h.parse(rrOf("busy.example.com.", "A", "192.0.2.99"))
		h.Put(rrOf(m.Header().Name, "A", "192.0.2.99"))
		failed(t, a.TakeAway(t.Context(), call), provider.Conflict, "NXRRSET", "not what the list said")
		call.Loose = true
		if err := a.TakeAway(t.Context(), call); err != nil {
			t.Fatalf("loose: expected success, got %v", err)
		}
		if got := s.Short("www.example.com.", "A"); !slices.Equal(got, []string{"192.0.2.20"}) {
			t.Errorf("www: got %v", got)
		}
		if got, want := s.Short("_sidestep-paused.www.example.com.", "TXT"), `"v=sidestep1 type=A value=192.0.2.10 ttl=60"`; !slices.Equal(got, []string{want}) {
			t.Errorf("the parked copy: expected %s, got %v", want, got)
		}
	})
}

// A pause outlives the server.
func TestRestartKeepsWhatWasWritten(t *testing.T) {
	onEach(t, rfc2136test.Zone{Text: wwwZone}, func(t *testing.T, s *rfc2136test.Server) {
		a := connect(t, s)
		if err := a.TakeAway(t.Context(), pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")); err != nil {
			t.Fatal(err)
		}
		s.Restart()
		seen, err := a.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := seen.Set(wwwA).Find("192.0.2.10"); got.Live || !got.Paused || got.TTL != time.Minute {
			t.Errorf("after a restart of the server: got %+v", got)
		}
	})
}

func TestStampsAreReadAlone(t *testing.T) {
	onEach(t, rfc2136test.Zone{Text: wwwZone}, func(t *testing.T, s *rfc2136test.Server) {
		a := connect(t, s)
		if now, err := a.Stamps(t.Context()); err != nil || len(now.Stamps) != 0 {
			t.Fatalf("a zone without a stamp: got %+v, %v", now, err)
		}
		seen := listed(t, a)
		now, err := a.Stamps(t.Context())
		if err != nil || len(now.Stamps) != 1 || now.Stamps[0].Nonce != seen.Stamps[0].Nonce {
			t.Fatalf("expected the stamp %v, got %+v, %v", seen.Stamps, now, err)
		}
	})
}
