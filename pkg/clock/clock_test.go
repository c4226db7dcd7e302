package clock_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/clock"
)

// The kernel's own uptime counts suspended time too, in hundredths of a
// second: the system clock must lie between two readings of it.
func TestSystemBootIsTheKernelsUptime(t *testing.T) {
	before := uptime(t)
	boot := clock.System().Boot()
	after := uptime(t)
	const grain = 10 * time.Millisecond
	if boot < before-grain || boot > after+grain {
		t.Errorf("boot time %v is not between the uptimes %v and %v", boot, before, after)
	}
}

func TestSystemClockNeverGoesBack(t *testing.T) {
	c := clock.System()
	last := c.Boot()
	for range 1000 {
		now := c.Boot()
		if now < last {
			t.Fatalf("boot time went back from %v to %v", last, now)
		}
		last = now
	}
}

func TestSystemWallIsTheDateWithoutMonotonicReading(t *testing.T) {
	before := time.Now().Round(0)
	wall := clock.System().Wall()
	if wall.Before(before) || wall.After(time.Now().Round(0)) {
		t.Errorf("wall time %v is not now", wall)
	}
	if strings.Contains(wall.String(), "m=") {
		t.Errorf("wall time %v carries a monotonic reading, which would hide steps", wall)
	}
}

func TestBubbleGoesAlongWithPackageTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.Bubble()
		boot, wall := c.Boot(), c.Wall()
		time.Sleep(90 * time.Minute)
		if got := c.Boot() - boot; got != 90*time.Minute {
			t.Errorf("boot time moved by %v, want 1h30m", got)
		}
		if got := c.Wall().Sub(wall); got != 90*time.Minute {
			t.Errorf("wall time moved by %v, want 1h30m", got)
		}
	})
}

func TestBubbleSuspendAndStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.Bubble()
		boot, wall := c.Boot(), c.Wall()
		c.Suspend(time.Hour)
		if got := c.Boot() - boot; got != time.Hour {
			t.Errorf("a suspend of an hour moved boot time by %v", got)
		}
		c.StepWall(-3 * time.Hour)
		if got := c.Boot() - boot; got != time.Hour {
			t.Errorf("a step of the wall clock moved boot time: %v", got)
		}
		if got := c.Wall().Sub(wall); got != -2*time.Hour {
			t.Errorf("wall time moved by %v, want -2h", got)
		}
	})
}

func TestFakeMovesOnlyWhenTold(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := clock.NewFake(time.Minute, start)
	c.Advance(time.Second)
	if c.Boot() != 61*time.Second || !c.Wall().Equal(start.Add(time.Second)) {
		t.Errorf("after a second: boot %v, wall %v", c.Boot(), c.Wall())
	}
	c.SetWall(start)
	if c.Boot() != 61*time.Second || !c.Wall().Equal(start) {
		t.Errorf("after setting the date: boot %v, wall %v", c.Boot(), c.Wall())
	}
}

func uptime(t *testing.T) time.Duration {
	t.Helper()
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		t.Skipf("no /proc/uptime to compare with: %v", err)
	}
	seconds, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(seconds * float64(time.Second))
}
