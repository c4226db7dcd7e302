package daemon

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"

	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/health"
	"sidestep/pkg/notify"
)

// What a service manager is told (sd_notify(3)).
const (
	ready    = systemd.SdNotifyReady
	stopping = systemd.SdNotifyStopping
)

// tellSystemd does nothing where no service manager listens.
func (d *Daemon) tellSystemd(state string) {
	_, err := systemd.SdNotify(false, state)
	d.errors.note("tell the service manager", err)
}

// reloading is the message that a Type=notify-reload service sends, with the
// monotonic time that systemd compares.
func reloading() string {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return systemd.SdNotifyReloading
	}
	return fmt.Sprintf("%s\nMONOTONIC_USEC=%d", systemd.SdNotifyReloading, ts.Nano()/1000)
}

// watchdog tells the service manager that the loop still turns, by going
// through it: a loop that hangs is not vouched for.
func (d *Daemon) watchdog(ctx context.Context) error {
	every, err := systemd.SdWatchdogEnabled(false)
	if err != nil || every == 0 {
		<-ctx.Done()
		return nil
	}
	ticker := time.NewTicker(every / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if d.ask(func(*engine.Engine) {}) {
				d.tellSystemd(systemd.SdNotifyWatchdog)
			}
		}
	}
}

// tellsEvery is how old the line of status is that a service manager shows.
const tellsEvery = 10 * time.Second

// tellStatus keeps the service manager's line of status, which systemctl status
// shows, until ctx ends.
func (d *Daemon) tellStatus(ctx context.Context) error {
	ticker := time.NewTicker(tellsEvery)
	defer ticker.Stop()
	for {
		d.tellStatusNow()
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// tellStatusNow does nothing where no service manager listens.
func (d *Daemon) tellStatusNow() {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return // a status of thousands of targets is not for nothing
	}
	line := ""
	if d.ask(func(e *engine.Engine) { line = statusLine(d.describe(e, "")) }) {
		d.tellSystemd("STATUS=" + line)
	}
}

// mostNamed is how many targets that are down the line of status names.
const mostNamed = 3

// statusLine says in a line who leads, how the targets are, and what a person has
// to know first. What comes from elsewhere in it cannot be another message to the
// service manager: those end at a line break, and here is none.
func statusLine(s control.Status) string {
	parts := []string{s.Leader.State}
	if s.Leader.State != "leader" && s.Leader.Detail != "" {
		parts[0] += ": " + s.Leader.Detail
	}
	parts = append(parts, "targets: "+countTargets(s.Targets))
	if s.Frozen != nil {
		parts = append(parts, fmt.Sprintf("frozen by %s: %s", s.Frozen.By, s.Frozen.Reason))
	}
	for _, z := range s.Zones {
		if z.Error != "" {
			parts = append(parts, fmt.Sprintf("zone %s: %s", z.Zone, z.Error))
			break
		}
	}
	if len(s.Notices) > 0 {
		parts = append(parts, s.Notices[0])
	}
	for i, part := range parts {
		parts[i] = notify.Clean(part)
	}
	return strings.Join(parts, "; ")
}

// countTargets counts verdicts, and names the first of those that are down.
func countTargets(targets []control.Target) string {
	var counts, down []string
	for _, verdict := range []health.Verdict{health.Up, health.Down, health.Suspected, health.Unknown} {
		n := 0
		for _, t := range targets {
			if t.Verdict != string(verdict) {
				continue
			}
			if n++; verdict == health.Down {
				down = append(down, fmt.Sprintf("%s %s/%s", t.ID, t.Phase, t.Cause))
			}
		}
		if n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, verdict))
		}
	}
	if len(counts) == 0 {
		return "none"
	}
	text := strings.Join(counts, ", ")
	if len(down) > 0 {
		text += " (" + strings.Join(down[:min(len(down), mostNamed)], ", ")
		if len(down) > mostNamed {
			text += fmt.Sprintf(" and %d more", len(down)-mostNamed)
		}
		text += ")"
	}
	return text
}
