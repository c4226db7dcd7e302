package provider

import (
	"testing"
	"testing/synctest"
	"time"
)

// Zones of one credential share what their provider allows it; other accounts,
// other providers and one's own servers have nothing to do with it.
func TestLimitsOfACredential(t *testing.T) {
	token := func(text, id string) Settings {
		return Settings{
			Options: map[string]string{"zone_id": id, "endpoint": ""},
			Secrets: map[string]Secret{"api_token": NewSecret(text), "zone_token": NewSecret("finds " + id)},
		}
	}
	limits := NewLimits()
	first := limits.Of("cloudflare", token("one", "1"))
	if first == nil || limits.Of("cloudflare", token("one", "2")) != first {
		t.Error("two zones of one token have each their own limit")
	}
	if other := limits.Of("cloudflare", token("two", "1")); other == first || other == nil {
		t.Error("two tokens have one limit")
	}
	if other := limits.Of("tencentcloud", token("one", "1")); other == first || other == nil {
		t.Error("two providers have one limit")
	}
	elsewhere := token("one", "1")
	elsewhere.Options["endpoint"] = "http://127.0.0.1:1"
	if limits.Of("cloudflare", elsewhere) == first {
		t.Error("two APIs have one limit")
	}
	for _, name := range []string{"rfc2136", "local", "powerdns", "memory"} {
		if limits.Of(name, token("one", "1")) != nil {
			t.Errorf("%s has a limit", name)
		}
	}
}

// No window of the vendor's length sees more calls than it allows, however they
// come.
func TestRatesStayBelowWhatVendorsAllow(t *testing.T) {
	for name, vendor := range map[string]struct {
		calls  int
		window time.Duration
	}{
		"cloudflare":   {1200, 5 * time.Minute},
		"route53":      {50 + 10*60, time.Minute},
		"tencentcloud": {20, time.Second},
		"hetzner":      {3600 + 10, time.Hour},
	} {
		r := TraitsOf(name).Rate
		if most := float64(r.Burst) + r.PerSecond*vendor.window.Seconds(); most > float64(vendor.calls) {
			t.Errorf("%s: up to %v calls in %s, and %d are allowed", name, most, vendor.window, vendor.calls)
		}
		if r.Reserve >= r.Burst {
			t.Errorf("%s: nothing of the burst is left to reads", name)
		}
	}
}

// TestCase68WritesGoBeforeDriftReads lets forty zones of one credential list
// themselves without a pause while forty failovers come: each of those gets its
// two writes, at once up to the reserve and then at the provider's rate.
func TestCase68WritesGoBeforeDriftReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := NewLimits().Of("cloudflare", Settings{Secrets: map[string]Secret{"api_token": NewSecret("one")}})
		ctx := t.Context()
		start, calls := time.Now(), []time.Duration(nil)
		note := make(chan time.Duration)
		for range 40 {
			go func() {
				for limiter.Read(ctx) == nil {
					select {
					case note <- time.Since(start):
					case <-ctx.Done():
						return
					}
				}
			}()
		}
		writes := 0
		go func() {
			time.Sleep(time.Minute) // the burst is used up by the reads
			for range 40 {
				go func() {
					for range 2 {
						if err := limiter.Write(ctx); err != nil {
							t.Error(err)
						}
						note <- -time.Since(start)
					}
				}()
			}
		}()
		for writes < 80 {
			at := <-note
			if at < 0 {
				writes, at = writes+1, -at
			}
			calls = append(calls, at)
		}
		last := calls[len(calls)-1] - time.Minute
		if want := 21 * time.Second; last > want { // (80 - 20) at 3 a second, and one
			t.Errorf("the last write was let through after %s, want %s", last, want)
		}
		for i := range calls {
			n := 0
			for _, at := range calls[i:] {
				if at-calls[i] < 5*time.Minute {
					n++
				}
			}
			if n > 1200 {
				t.Fatalf("%d calls in five minutes", n)
			}
		}
	})
}

// What went through is told by provider, all credentials together, and for how long
// one of them is held.
func TestLimitsTellWhatWentThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := NewLimits()
		first := limits.Of("cloudflare", Settings{Options: map[string]string{"account": "a"}})
		second := limits.Of("cloudflare", Settings{Options: map[string]string{"account": "b"}})
		for range 61 { // 60 at once, and the last waits for a third of a second
			if err := first.Write(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := second.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		second.Hold(time.Minute)
		if second.Write(t.Context()) == nil {
			t.Fatal("a call went through while the provider takes none")
		}
		got := limits.Used()["cloudflare"]
		if got.Calls != 62 || got.Waited.Round(10*time.Millisecond) != 330*time.Millisecond || got.Held != time.Minute {
			t.Errorf("%+v, want 62 calls that waited 330ms, held for a minute", got)
		}
	})
}
