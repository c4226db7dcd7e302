package daemon

import (
	"context"
	"fmt"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"

	"sidestep/pkg/engine"
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
