package control

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Mount is something else than the protocol that is served over TCP, such as a page or
// metrics. Host and Origin were checked before it is called.
type Mount struct {
	Handler http.Handler
	Role    Role // what a client's token has to be good for; empty lets everybody look
}

// TCPOptions is what a server over TCP is made of.
type TCPOptions struct {
	Listen   string           // ADDR:PORT
	Access   *Access          // with a certificate it speaks TLS, without one it listens on loopback only
	Hosts    []string         // names by which it is asked, beside localhost and those of its certificate
	Handlers map[string]Mount // by pattern of http.ServeMux; none of /api/ and /healthz
	Logger   *slog.Logger     // nil logs nothing
}

// ListenTCP opens the port. The requests are those of the socket; who bears no token
// may ask for /healthz, and for mounts without a role.
func ListenTCP(ctx context.Context, options TCPOptions, backend Backend) (*Server, error) {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	secure := options.Access.shown() != nil
	if at, err := netip.ParseAddrPort(options.Listen); err != nil || !secure && !at.Addr().IsLoopback() {
		return nil, fmt.Errorf("listen on %s: expected an address of loopback, or a certificate: give control.tls", options.Listen)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", options.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; end what listens there, or name another port with control.listen", options.Listen, err)
	}
	d := &door{access: options.Access, hosts: options.Hosts, secure: secure, log: options.Logger}
	mux := routes(backend, d.let)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) { healthz(w, r, backend) })
	for pattern, mount := range options.Handlers {
		mux.HandleFunc(pattern, d.mounted(mount))
	}
	if _, taken := options.Handlers["/"]; !taken {
		mux.HandleFunc("/", unknown)
	}
	s := newServer(listener, d.guard(mux), options.Logger)
	if secure {
		s.http.Protocols = new(http.Protocols)
		s.http.Protocols.SetHTTP1(true)
		s.listener = tls.NewListener(s.listener, &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return options.Access.shown(), nil },
		})
	}
	return s, nil
}

// Addr is where it listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// door decides who comes in.
type door struct {
	access *Access
	hosts  []string
	secure bool
	log    *slog.Logger
}

// guard refuses what a browser was led to send by somebody else's page, and what is
// never a request of the protocol. Reads are checked as well: a page whose name was
// rebound to this address could read the answers.
func (d *door) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connection := http.NewResponseController(w)
		_ = connection.SetWriteDeadline(time.Now().Add(transferWithin))
		if r.ContentLength != 0 { // whoever reads it lifts this
			_ = connection.SetReadDeadline(time.Now().Add(transferWithin))
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		switch {
		case !d.named(r.Host):
			refuse(w, http.StatusMisdirectedRequest, fmt.Sprintf("this sidestep is not called %q; ask it by its address, localhost, its node's name or a name of its certificate", r.Host))
		case !d.sameOrigin(r):
			refuse(w, http.StatusForbidden, "a page of another origin may not ask this sidestep")
		case r.ContentLength != 0 && r.Method != http.MethodPost:
			refuse(w, http.StatusBadRequest, r.Method+" takes no body")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// named reports whether a Host is this server's. An address cannot be rebound.
func (d *door) named(at string) bool {
	name := at
	if h, _, err := net.SplitHostPort(at); err == nil {
		name = h
	}
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if name == "localhost" || slices.Contains(d.hosts, name) {
		return true
	}
	shown := d.access.shown()
	return name != "" && shown != nil && shown.Leaf != nil && shown.Leaf.VerifyHostname(name) == nil
}

// sameOrigin reports whether a request comes from no page, or from one of this server.
// Fetch metadata is what browsers say where they leave Origin out
// (w3.org/TR/fetch-metadata); a link from elsewhere to a page is let through.
func (d *door) sameOrigin(r *http.Request) bool {
	if origins := r.Header.Values("Origin"); len(origins) > 0 {
		from, err := url.Parse(origins[0])
		web := err == nil && (from.Scheme == "https" || from.Scheme == "http" && !d.secure) // a proxy may speak TLS for it
		return len(origins) == 1 && web && strings.EqualFold(from.Host, r.Host)
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return true
	}
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/api/")
}

// let lets in who bears a token that is good for a role.
func (d *door) let(needed Role, serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") || token == "" {
			w.Header().Set("WWW-Authenticate", `Bearer realm="sidestep"`)
			refuse(w, http.StatusUnauthorized, "expected a token: Authorization: Bearer TOKEN, one of control.tokens")
			return
		}
		from := netip.Addr{}
		if at, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
			from = at.Addr()
		}
		if pause := d.access.blocked(from, time.Now()); pause > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(pause.Seconds()))))
			refuse(w, http.StatusTooManyRequests, fmt.Sprintf("too many wrong tokens came from %s; wait %s, or use the control socket", from, pause.Round(time.Second)))
			return
		}
		k, known := d.access.bearer(strings.TrimSpace(token))
		switch {
		case !known:
			d.access.failed(from, time.Now())
			d.log.Warn("a wrong token", "from", from.String(), "path", r.URL.Path)
			w.Header().Set("WWW-Authenticate", `Bearer realm="sidestep", error="invalid_token"`)
			refuse(w, http.StatusUnauthorized, "no such token is in control.tokens")
		case !k.role.covers(needed):
			refuse(w, http.StatusForbidden, fmt.Sprintf("the token %s has the role %s, and this needs %s", k.name, k.role, needed))
		default:
			ctx := context.WithValue(r.Context(), peerKey{}, k.name)
			serve(w, r.WithContext(context.WithValue(ctx, holdsKey{}, func() bool { return d.access.holds(k, needed) })))
		}
	}
}

// mounted serves what is no part of the protocol.
func (d *door) mounted(m Mount) http.HandlerFunc {
	if m.Role == "" {
		return m.Handler.ServeHTTP
	}
	return d.let(m.Role, m.Handler.ServeHTTP)
}

// refuse says no, and reads nothing more from this connection.
func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Connection", "close")
	fail(w, status, &Error{Message: why, Exit: ExitFailure})
}

// aliveWithin is how long the loop may take to say that it turns.
const aliveWithin = 2 * time.Second

// healthz says whether the loop turns, which all decisions go through.
func healthz(w http.ResponseWriter, r *http.Request, b Backend) {
	ctx, cancel := context.WithTimeout(r.Context(), aliveWithin)
	defer cancel()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if err := b.Alive(ctx); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, "the loop gave no sign of life within %s\n", aliveWithin)
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}
