package daemon

import (
	"context"
	"fmt"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/engine"
)

// pingWhileLooping calls the dead man's switch, each time only after the loop has
// answered: while that hangs nobody is told that all is well.
func (d *Daemon) pingWhileLooping(ctx context.Context) error {
	for {
		ping := config.Ping{}
		if !d.ask(func(*engine.Engine) { ping = d.config.Ping }) {
			return nil
		}
		every := time.Minute // to see whether a reload brought one
		if ping.Every > 0 {
			every = ping.Every
			d.pingOnce(ctx, ping)
		}
		if !wait(ctx, every) {
			return nil
		}
	}
}

func (d *Daemon) pingOnce(ctx context.Context, ping config.Ping) {
	pinger, err := ping.Pinger()
	if err == nil {
		err = pinger.Send(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		err = fmt.Errorf("ping: %w", err)
	}
	d.errors.note("tell the dead man's switch that all is well", err)
}
