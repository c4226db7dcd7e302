package daemon

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net/netip"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/web"
)

// letIn takes who may do what over TCP from a config. A certificate that is no pair
// was refused with the config.
func (d *Daemon) letIn(c config.Control) {
	var certificate *tls.Certificate
	if pair, err := tls.X509KeyPair(c.TLS.Cert, c.TLS.Key); len(c.TLS.Cert) > 0 && err == nil {
		certificate = &pair
	}
	tokens := make([]control.Token, len(c.Tokens))
	for i, t := range c.Tokens {
		tokens[i] = control.Token{Name: t.Name, Role: control.Role(t.Role), Secret: t.Token.Reveal()}
	}
	if d.access == nil {
		d.access = control.NewAccess(tokens, certificate)
		return
	}
	d.access.Set(tokens, certificate)
}

// listenAgain is how often a port is tried that another process has.
const listenAgain = 10 * time.Second

// serveTCP serves the API, and what is mounted beside it, until ctx ends. A port that
// cannot be had stops no failover: it is said, in the log and in status, and tried
// again.
func (d *Daemon) serveTCP(ctx context.Context) error {
	for {
		server, err := control.ListenTCP(ctx, control.TCPOptions{
			Listen: d.options.Config.Control.Listen, Access: d.access, Hosts: []string{d.options.Config.Node.Name},
			Handlers: d.mounts(), Logger: d.log,
		}, d)
		if err == nil {
			d.unheld.Store(nil)
			d.errors.note("serve over TCP", nil)
			d.log.Info("serving over TCP", "at", server.Addr().String(), "tls", len(d.options.Config.Control.TLS.Cert) > 0)
			return server.Serve(ctx)
		}
		d.unheld.Store(&err)
		d.errors.note("serve over TCP", err)
		if !wait(ctx, listenAgain) {
			return nil
		}
	}
}

// mounts is what is served over TCP beside the API. A Prometheus on this machine needs
// no token, and the dashboard asks for one itself.
func (d *Daemon) mounts() map[string]control.Mount {
	metrics := control.Mount{Handler: d.Metrics()}
	if at, err := netip.ParseAddrPort(d.options.Config.Control.Listen); err != nil || !at.Addr().IsLoopback() {
		metrics.Role = control.RoleRead
	}
	all := map[string]control.Mount{"GET /metrics": metrics}
	if page, err := web.Handler(); err == nil {
		all["/"] = control.Mount{Handler: page}
	} else {
		d.log.Error("the dashboard is not served", "error", err)
	}
	maps.Copy(all, d.options.Mounts)
	return all
}

// Alive returns once the loop has turned.
func (d *Daemon) Alive(ctx context.Context) error {
	turned := make(chan struct{})
	select {
	case d.inbox <- func(*engine.Engine) { close(turned) }:
	case <-d.stopped:
		return errStopped
	case <-ctx.Done():
		return fmt.Errorf("wait for the loop: %w", ctx.Err())
	}
	<-turned
	return nil
}
