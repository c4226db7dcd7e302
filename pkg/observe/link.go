package observe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"sidestep/pkg/check"
)

const (
	maxHeaders = 64 << 10 // bytes of the headers of one answer
	maxDrained = 1 << 20  // bytes of a body that are read to keep the connection
)

// link is one connection, over which requests go one at a time.
type link struct {
	address  netip.AddrPort // the socket peer
	opened   time.Time
	requests int
	conn     *http.ClientConn
	raw      *watched
	multi    bool // it speaks HTTP/2, where a request can end without its connection

	mu     sync.Mutex
	asking bool // a request is on its way, whose outcome tells who ended the connection
	end    *End
}

// watched remembers how reading from a connection ended, below TLS.
type watched struct {
	net.Conn

	mu  sync.Mutex
	err error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		w.mu.Lock()
		w.err = err
		w.mu.Unlock()
	}
	return n, err
}

// open dials an address and goes as far as requests can be sent.
func (r *Request) open(ctx context.Context, address netip.AddrPort) (*link, *fault) {
	config, err := r.tls()
	if err != nil {
		return nil, &fault{check.PhaseTLS, check.CauseLocal, clean(err.Error())}
	}
	if r.leaves() && r.Source.Is4() != address.Addr().Is4() {
		return nil, &fault{check.PhaseConnect, check.CauseLocal, fmt.Sprintf("the check's source %s is not of its family", r.Source)}
	}
	l := &link{address: address}
	phase := check.PhaseConnect
	transport := &http.Transport{
		TLSClientConfig: config, Protocols: new(http.Protocols), DisableCompression: true, MaxResponseHeaderBytes: maxHeaders,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := r.dialer().DialContext(ctx, "tcp", address.String())
			if err != nil {
				return nil, err
			}
			l.raw = &watched{Conn: conn}
			return l.raw, nil
		},
		OnProxyConnectResponse: refusedTunnel,
	}
	transport.Protocols.SetHTTP1(true)
	transport.Protocols.SetHTTP2(!r.HTTP.HTTP1)
	if r.Via != nil && r.Via.proxy != nil {
		transport.Proxy = http.ProxyURL(r.Via.proxy)
	}
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeStart: func() { phase = check.PhaseTLS },
		TLSHandshakeDone:  func(s tls.ConnectionState, _ error) { l.multi = s.NegotiatedProtocol == "h2" },
	})
	l.conn, err = transport.NewClientConn(traced, r.HTTP.Scheme, net.JoinHostPort(r.HTTP.Host, fmt.Sprint(r.HTTP.Port)))
	if err != nil {
		if l.raw != nil {
			_ = l.raw.Close() // what went wrong is told below
		}
		f := faultOf(phase, orContext(ctx, err))
		if r.Via != nil && l.raw == nil {
			f.detail = clean(r.Via.String() + " itself cannot be reached: " + f.detail)
		}
		return nil, f
	}
	l.opened = time.Now()
	l.conn.SetStateHook(func(*http.ClientConn) { l.look() })
	return l, nil
}

// leaves reports whether requests leave from an address of their own.
func (r *Request) leaves() bool { return r.Source.IsValid() && r.Via == nil }

func (r *Request) dialer() *net.Dialer {
	if !r.leaves() {
		return new(net.Dialer)
	}
	return &net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(r.Source, 0))}
}

// refusedTunnel words a proxy's no to CONNECT. Any status of success opens the
// tunnel (RFC 9110 section 9.3.6); the library takes 200 alone.
func refusedTunnel(_ context.Context, _ *url.URL, request *http.Request, response *http.Response) error {
	cause := check.CauseStatus
	switch response.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusForbidden, http.StatusProxyAuthRequired:
		cause = check.CauseAuth
	}
	return &fault{check.PhaseConnect, cause, fmt.Sprintf("the proxy opened no tunnel to %s: it answered %d", request.Host, response.StatusCode)}
}

// orContext prefers the end of a context to the error that it led to.
func orContext(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// tls is how the connection is made secure: the certificate is always verified,
// against the host of the URL unless the check names another.
func (r *Request) tls() (*tls.Config, error) {
	spec := &r.HTTP.TLS
	config := &tls.Config{ServerName: orElse(spec.ServerName, r.HTTP.Host), MinVersion: tls.VersionTLS12}
	if len(spec.CA) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(spec.CA) {
			return nil, errors.New("read ca: expected certificates in PEM, got none")
		}
	}
	if len(spec.Cert) > 0 {
		pair, err := tls.X509KeyPair(spec.Cert, spec.Key)
		if err != nil {
			return nil, fmt.Errorf("read cert and key: %w", err)
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	return config, nil
}

// ask sends the request once, and takes out of the answer what is reported.
func (l *link) ask(ctx context.Context, r *Request, out *Reply) *fault {
	request, err := r.message()
	if err != nil {
		return &fault{check.PhaseSend, check.CauseLocal, clean(err.Error())}
	}
	l.requests++
	out.Requests = l.requests
	l.busy(true)
	defer l.busy(false)
	response, err := l.conn.RoundTrip(request.WithContext(ctx))
	if err != nil {
		return faultOf(check.PhaseHeaders, orContext(ctx, err))
	}
	defer func() { _ = response.Body.Close() }()
	if !l.multi && response.Close {
		why := "Connection: close"
		if !response.ProtoAtLeast(1, 1) {
			why = response.Proto + " without keep-alive"
		}
		l.note(ByServer, "it asked for the end with its answer ("+why+")")
	}
	if f := l.read(ctx, r, response, out); f != nil {
		return f
	}
	out.Status, out.Protocol = response.StatusCode, response.Proto
	return nil
}

// read looks for the identity, and reads the body to its end, which HTTP/1.1
// needs for the next request.
func (l *link) read(ctx context.Context, r *Request, response *http.Response, out *Reply) *fault {
	body, err := io.ReadAll(io.LimitReader(response.Body, bodyLimit+1))
	whole := len(body) <= bodyLimit
	if err == nil && !whole {
		if _, err = io.CopyN(io.Discard, response.Body, maxDrained); err == nil && !l.multi {
			l.close(ByUs, fmt.Sprintf("the body is longer than %d bytes", maxDrained))
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return faultOf(check.PhaseBody, orContext(ctx, err))
	}
	identity, missing := r.Identity.of(response, body[:min(len(body), bodyLimit)], whole)
	out.Identity, out.Missing = short(r.mask(identity)), clean(missing)
	return nil
}

// busy says when a request begins and when its outcome is known. The library
// closes a connection by itself in between, when the time of the request is over.
func (l *link) busy(asking bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asking = asking
}

// look is the end of the connection, nil while requests can be sent and while one
// is on its way. What we have not closed, the server has.
func (l *link) look() *End {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end == nil && !l.asking && l.conn.Err() != nil {
		l.end = &End{Address: l.address, At: time.Now(), By: ByServer, How: l.how()}
	}
	return l.end
}

// how words the end of reading. Without one the end came in an upper layer.
func (l *link) how() string {
	w := l.raw
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err == nil && l.multi:
		return "it takes no more requests (a GOAWAY, or the end of TLS)"
	case w.err == nil:
		return "it takes no more requests (the end of TLS, or bytes that nobody asked for)"
	case errors.Is(w.err, io.EOF):
		return "it closed the connection"
	}
	return clean("it broke off: " + faultOf(check.PhaseHeaders, w.err).detail)
}

// failed lets a connection go whose request failed, unless it carries others.
func (l *link) failed(ctx context.Context, f *fault) {
	switch {
	case !l.multi && (ctx.Err() != nil || f.cause == check.CauseMismatch):
		l.close(ByUs, "its request failed: "+f.detail)
	case l.look() != nil:
	case f.cause == check.CauseReset:
		l.close(ByServer, f.detail)
	case !l.multi: // what comes later could not be told from the next answer
		l.close(ByUs, "its request failed: "+f.detail)
	}
}

// note remembers why the connection ends; the first reason stays.
func (l *link) note(by Side, how string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end == nil {
		l.end = &End{Address: l.address, At: time.Now(), By: by, How: how}
	}
}

// close ends the connection.
func (l *link) close(by Side, how string) {
	l.note(by, how)
	_ = l.conn.Close()
}
