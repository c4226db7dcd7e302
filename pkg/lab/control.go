package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
)

// Control is a small HTTP server for people, from which the backends of a lab
// are broken and mended:
//
//	curl http://ADDR/
//	curl -X POST 'http://ADDR/break?backend=b1&mode=refuse'
//	curl -X POST 'http://ADDR/mend?backend=b1'
//
// Without a mode, break refuses connections; "mode=503" answers with a status.
type Control struct {
	log      *slog.Logger
	backends []*Backend

	mu       sync.Mutex
	listener net.Listener
}

// NewControl makes the control of some backends; a nil logger says nothing.
func NewControl(logger *slog.Logger, backends ...*Backend) *Control {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Control{log: logger, backends: backends}
}

// Listen binds an address; port 0 takes a free one. Requests wait until Serve.
func (c *Control) Listen(addr string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listener != nil {
		return fmt.Errorf("listen for the lab on %s: already listening on %s", addr, c.listener.Addr())
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listen for the lab on %s: %w", addr, err)
	}
	c.listener = listener
	return nil
}

// Addr is the address that the control listens on; empty before Listen.
func (c *Control) Addr() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listener == nil {
		return ""
	}
	return c.listener.Addr().String()
}

// Serve answers until the context ends; nil when it was that. It is called once,
// after Listen.
func (c *Control) Serve(ctx context.Context) error {
	c.mu.Lock()
	listener := c.listener
	c.mu.Unlock()
	if listener == nil {
		return errors.New("serve the lab: not listening; call Listen first")
	}
	server := &http.Server{
		Handler:           c.Handler(),
		ReadHeaderTimeout: headerTimeout,
		ErrorLog:          slog.NewLogLogger(c.log.Handler(), slog.LevelDebug),
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // Serve reports the end
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the lab on %s: %w", listener.Addr(), err)
	}
	return nil
}

// Handler is the control as an HTTP handler. Pages of other origins cannot use
// it: a browser in the same machine may have any page open.
func (c *Control) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", c.list)
	mux.HandleFunc("POST /break", c.change)
	mux.HandleFunc("POST /mend", c.change)
	return http.NewCrossOriginProtection().Handler(mux)
}

func (c *Control) list(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "BACKEND\tADDRESS\tMODE\tREQUESTS")
	for _, b := range c.backends {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\n", b.Name(), b.Addr(), b.Mode(), b.Requests())
	}
	if err := table.Flush(); err != nil {
		return // the client has gone
	}
	fmt.Fprintf(w, `
To break one: curl -X POST 'http://%[1]s/break?backend=NAME'    (mode=refuse, hang, reset, or a status as mode=503)
To mend it:   curl -X POST 'http://%[1]s/mend?backend=NAME'
`, r.Host)
}

// change brings a backend to the mode of the request.
func (c *Control) change(w http.ResponseWriter, r *http.Request) {
	name := r.FormValue("backend")
	mode := OK
	if r.URL.Path == "/break" {
		mode = Mode(cmp.Or(r.FormValue("mode"), string(Refuse)))
	}
	i := slices.IndexFunc(c.backends, func(b *Backend) bool { return b.Name() == name })
	if i < 0 {
		http.Error(w, fmt.Sprintf("no backend %q; there are: %s", name, strings.Join(c.names(), ", ")), http.StatusNotFound)
		return
	}
	b := c.backends[i]
	if _, err := ParseMode(string(mode)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := b.Break(mode); err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	c.log.Info("backend changed", "backend", name, "mode", string(b.Mode()))
	fmt.Fprintf(w, "backend %s on %s: %s\n", name, b.Addr(), b.Mode())
}

func (c *Control) names() []string {
	var names []string
	for _, b := range c.backends {
		names = append(names, b.Name())
	}
	return names
}
