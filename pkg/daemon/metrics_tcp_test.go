package daemon

import (
	"testing"

	"sidestep/pkg/control"
)

// A Prometheus on the machine scrapes without a token, one elsewhere with one that may
// read.
func TestWhoMayScrapeOverTCP(t *testing.T) {
	for listen, role := range map[string]control.Role{
		"127.0.0.1:9953": "", "[::1]:9953": "", "0.0.0.0:9953": control.RoleRead, "192.0.2.7:9953": control.RoleRead,
	} {
		w := newWorld(t, class)
		w.config.Control.Listen = listen
		d, err := New(w.options())
		if err != nil {
			t.Fatal(err)
		}
		mount, there := d.mounts()["GET /metrics"]
		if !there || mount.Role != role {
			t.Errorf("%s: role %q (there: %v), want %q", listen, mount.Role, there, role)
		}
	}
}
