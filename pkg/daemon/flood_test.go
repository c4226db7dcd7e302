package daemon

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/clock"
	"sidestep/pkg/engine"
	"sidestep/pkg/health"
)

// A target that alternates each second, and one that goes down once.
func TestFlappingTargetDoesNotFillTheLog(t *testing.T) {
	log, now := &logBook{}, clock.NewFake(time.Hour, time.Time{})
	d := &Daemon{log: slog.New(log), clock: now}
	for i := range 3000 {
		verdict := []health.Verdict{health.Up, health.Down}[i%2]
		d.logEntry(engine.Entry{Kind: "verdict", Target: "web@192.0.2.1", To: verdict})
		if i == 500 {
			d.logEntry(engine.Entry{Kind: "verdict", Target: "web@192.0.2.2", To: health.Down})
		}
		d.logEntry(engine.Entry{Kind: "guard", Target: fmt.Sprint("set", i), Guard: "adopt", Detail: "stopped"})
		now.Advance(time.Second)
	}
	lines := log.with("target=web@192.0.2.1")
	if len(lines) != 5*floodLines {
		t.Fatalf("%d lines of 3000 verdicts", len(lines))
	}
	if !strings.Contains(lines[floodLines-1], "more=left out") || !strings.Contains(lines[floodLines], "left_out=594") {
		t.Errorf("the last before and the first after what was left out:\n%s\n%s", lines[floodLines-1], lines[floodLines])
	}
	for text, want := range map[string]int{"target=web@192.0.2.2": 1, "stopped by a guard": 3000} {
		if n := len(log.with(text)); n != want {
			t.Errorf("%s: %d lines, want %d", text, n, want)
		}
	}
	n := 0
	for _, about := range d.flood.told {
		n += len(about)
	}
	if n > 1300 {
		t.Errorf("%d things are remembered", n)
	}
	for range 2 * floodLines {
		d.logEntry(engine.Entry{Kind: "guard", Target: "www", By: "ann", Detail: "approved"})
	}
	if n := len(log.with("by=ann")); n != 2*floodLines {
		t.Errorf("what a person said was left out: %d lines", n)
	}
}
