package daemon

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/config"
	"sidestep/pkg/engine"
	"sidestep/pkg/provider"
)

// The dead man's switch is called again and again while the loop turns, not while it
// hangs, and again afterwards. The time is real, as the calls are.
func TestPingStopsWhileTheLoopHangs(t *testing.T) {
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(server.Close)
	w := newWorld(t, class)
	w.clock = clock.System()
	w.config.Ping = config.Ping{URL: provider.NewSecret(server.URL + "/MARKER"), Every: time.Millisecond}
	d := w.run()
	more := func() {
		t.Helper()
		before := calls.Load()
		for range 60_000 {
			if calls.Load() > before+1 {
				return
			}
			time.Sleep(time.Millisecond)
		}
		t.Fatal("not called for a minute")
	}
	more()
	hangs, release := make(chan struct{}), make(chan struct{})
	go d.send(func(*engine.Engine) { close(hangs); <-release })
	<-hangs
	last, still := calls.Load(), 0
	for range 3_000 { // one call may have been under way
		time.Sleep(10 * time.Millisecond)
		if now := calls.Load(); now != last {
			last, still = now, 0
			continue
		}
		if still++; still == 50 {
			break
		}
	}
	if still < 50 {
		t.Error("called while the loop hangs")
	}
	close(release)
	more()
}
