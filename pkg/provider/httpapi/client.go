package httpapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"sidestep/pkg/provider"
)

// Client reaches one API with one credential's limiter. It may be used by
// several goroutines.
type Client struct {
	base    *url.URL
	http    *http.Client
	limiter *provider.Limiter
	agent   string
}

// Options say where the API is.
type Options struct {
	Base     string // what stands before the path of each request, "https://api.example.net/client/v4"
	Insecure bool   // a plain connection off loopback is meant
	Limiter  *provider.Limiter
	Agent    string // the User-Agent, "sidestep/VERSION"
}

// New checks the base URL: credentials go over TLS, or no further than this
// host, unless the operator said otherwise.
func New(o Options) (*Client, error) {
	base, err := ParseEndpoint(o.Base, o.Insecure)
	if err != nil {
		return nil, err
	}
	return &Client{base: base, http: HTTPClient(), limiter: o.Limiter, agent: o.Agent}, nil
}

var errNoURL = errors.New("read endpoint: expected a URL like https://HOST/PATH")

// ParseEndpoint reads the base URL of an API.
func ParseEndpoint(text string, insecure bool) (*url.URL, error) {
	base, err := url.Parse(text)
	switch {
	case err != nil && !strings.Contains(text, "://"):
		return nil, errNoURL // HOST:PORT, of which Go says that it is a path
	case err != nil:
		return nil, fmt.Errorf("read endpoint: %w", plain(err)) // the text may hold a password
	case base.Scheme != "https" && base.Scheme != "http" || base.Host == "":
		return nil, errNoURL
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, fmt.Errorf("read endpoint of host %s: expected no user, query or fragment in it", base.Host)
	case base.Scheme == "http" && !insecure && !loopback(base.Hostname()):
		return nil, fmt.Errorf("read endpoint %s: the credential would travel in the clear; use https, or write insecure: true on the zone", base)
	}
	base.Path = strings.TrimSuffix(base.Path, "/")
	return base, nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// HTTPClient is the client for adapters whose vendor's SDK brings its own
// requests. It follows no redirect; the environment's proxy is used, as other
// programs of the host do, except to loopback.
func HTTPClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    5 * time.Second,
			MaxIdleConns:           4,
			IdleConnTimeout:        90 * time.Second,
			ForceAttemptHTTP2:      true,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Request is one call of the API.
type Request struct {
	Op     string // what is attempted, for the error: "list zone example.com."
	Method string
	Path   string // after the base, escaped
	Query  url.Values
	Header http.Header
	Body   []byte
	Write  bool          // it may change the zone
	Gate   provider.Gate // asked last; nil asks nobody
	Limit  int64         // largest body that is read; 0 is 4 MiB

	// Sign finishes the request: the credential, a signature. It is called just
	// before the gate.
	Sign func(*http.Request) error
}

// Reply is an answer in full.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

const defaultLimit = 4 << 20

// Do sends a request once and reads its answer, whatever its status. (net/http
// takes another connection when it finds one closed before a byte of a write was
// sent, and only then; a GET it also sends anew when a kept connection breaks
// under it.) An error is a *provider.Error, or the gate's own.
func (c *Client) Do(ctx context.Context, r Request) (*Reply, error) {
	var reply *Reply
	err := c.Stream(ctx, r, func(status int, header http.Header, body io.Reader) error {
		data, err := io.ReadAll(body)
		reply = &Reply{Status: status, Header: header, Body: data}
		return err
	})
	if err != nil {
		return nil, err
	}
	return reply, nil
}

// Stream is Do for answers that are too large to be kept whole: read gets the
// body as it comes. An error of read is an answer that could not be read, unless
// it is a *provider.Error.
func (c *Client) Stream(ctx context.Context, r Request, read func(status int, header http.Header, body io.Reader) error) error {
	if err := c.wait(ctx, r.Write); err != nil {
		return err
	}
	var sent Sent
	request, err := c.build(sent.Trace(ctx), r)
	if err != nil {
		return &provider.Error{Class: provider.Permanent, Op: r.Op, Err: err}
	}
	if r.Gate != nil {
		if err := r.Gate(); err != nil {
			return err
		}
	}
	response, err := c.http.Do(request)
	if err != nil {
		return Broken(r.Op, r.Write, &sent, err)
	}
	defer response.Body.Close() //nolint:errcheck // read to its end or given up: nothing depends on it
	if response.StatusCode == http.StatusTooManyRequests {
		c.limiter.Hold(RetryAfter(response.Header)) // further calls, of any zone, would only prolong the block
	}
	limit := r.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	err = read(response.StatusCode, response.Header, &limited{response.Body, limit})
	var typed *provider.Error
	switch {
	case err == nil || errors.As(err, &typed):
		return err
	case ctx.Err() != nil: // it came in part: what is missing is time, not sense
		return Broken(r.Op, r.Write, &sent, ctx.Err())
	}
	return Unreadable(r.Op, r.Write, response.StatusCode, err)
}

func (c *Client) wait(ctx context.Context, write bool) error {
	if write {
		return c.limiter.Write(ctx)
	}
	return c.limiter.Read(ctx)
}

func (c *Client) build(ctx context.Context, r Request) (*http.Request, error) {
	target := *c.base
	path, err := url.PathUnescape(r.Path)
	if err != nil {
		return nil, fmt.Errorf("build the path %q: %w", r.Path, err)
	}
	target.Path, target.RawPath = target.Path+path, target.EscapedPath()+r.Path
	target.RawQuery = r.Query.Encode()
	request, err := http.NewRequestWithContext(ctx, r.Method, target.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	maps.Copy(request.Header, r.Header)
	request.Header.Set("User-Agent", c.agent)
	if r.Sign != nil {
		if err := r.Sign(request); err != nil {
			return nil, err
		}
	}
	return request, nil
}

// limited ends with an error where a body is larger than it may be, instead of
// passing off a part as the whole.
type limited struct {
	body io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.body.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, errors.New("the answer is larger than expected")
	}
	return n, err
}

// Sent knows whether a request began to leave. The zero value is ready.
type Sent struct{ began atomic.Bool }

// Trace watches the request that is made with the context.
func (s *Sent) Trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { s.began.Store(true) },
	})
}

// Began reports whether a connection was there to send the request on: from
// then on the server may have it.
func (s *Sent) Began() bool { return s.began.Load() }
