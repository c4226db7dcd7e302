package drill

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/lab"
	"sidestep/pkg/observe"
	"sidestep/pkg/record"
)

// told is what a name server says of the name: an address, or that there is no such
// name.
type told struct {
	host string // empty for NXDOMAIN
	ttl  time.Duration
}

func (t told) String() string {
	host := t.host
	if host == "" {
		host = "NXDOMAIN"
	}
	return fmt.Sprintf("%s, %s left", host, t.ttl)
}

// askAuthority is what the authority answers with; empty for NXDOMAIN.
func (w *localWorld) askAuthority(ctx context.Context) (host string, err error) {
	answer, err := observe.Ask(ctx, w.server.Addr(), localName, record.A)
	if err != nil || len(answer.Values) == 0 {
		return "", err
	}
	return answer.Values[0], nil
}

// askCache is what the cache tells, as it tells every client.
func (w *localWorld) askCache(ctx context.Context) (told, error) {
	at, err := netip.ParseAddrPort(w.cache.Addr())
	if err != nil {
		return told{}, err
	}
	reply, _, _, err := observe.Exchange(ctx, at, new(dns.Msg).SetQuestion(string(localName), dns.TypeA))
	if err != nil {
		return told{}, fmt.Errorf("ask the cache: %w", err)
	}
	for _, rr := range append(reply.Answer, reply.Ns...) {
		ttl := time.Duration(rr.Header().Ttl) * time.Second
		switch rr := rr.(type) {
		case *dns.A:
			return told{rr.A.String(), ttl}, nil
		case *dns.SOA:
			return told{"", ttl}, nil
		}
	}
	return told{}, fmt.Errorf("ask the cache: it answered %s with nothing that could be kept", dns.RcodeToString[reply.Rcode])
}

// connection is one connection to a web server, kept from request to request.
type connection struct {
	client *http.Client
	url    string
	host   string // where it was dialled, as the cache said
	local  string // its own end
}

// open asks the cache for the name and connects to what it says.
func (w *localWorld) open(ctx context.Context) (*connection, error) {
	at, err := w.askCache(ctx)
	if err != nil {
		return nil, err
	}
	if at.host == "" {
		return nil, errors.New("the cache says that there is no such name")
	}
	transport := &http.Transport{
		Proxy: nil, ForceAttemptHTTP2: w.http2, MaxConnsPerHost: 1,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, err
			}
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(at.host, port))
		},
	}
	if w.roots != nil {
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: w.roots}
	}
	return &connection{client: &http.Client{Transport: transport}, url: w.url(), host: at.host}, nil
}

// visit is what one request met.
type visit struct {
	peer, local string // ends of the connection
	reused      bool   // the connection was open before
	identity    string
	proto       string
}

func (v visit) String() string {
	connection := "a new connection"
	if v.reused {
		connection = "the same connection"
	}
	return fmt.Sprintf("%s at %s by %s", v.identity, v.peer, connection)
}

// ask sends one request and reads its answer to the end, so that the connection is
// idle afterwards.
func (c *connection) ask(ctx context.Context) (visit, error) {
	var v visit
	trace := &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		v.peer, _, _ = net.SplitHostPort(got.Conn.RemoteAddr().String())
		v.local, v.reused = got.Conn.LocalAddr().String(), got.Reused
	}}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodGet, c.url, nil)
	if err != nil {
		return visit{}, err
	}
	response, err := c.client.Do(request)
	if err != nil {
		return visit{}, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return visit{}, err
	}
	v.identity, v.proto = response.Header.Get(lab.IdentityHeader), response.Proto
	return v, nil
}

// retire closes the connection, which is idle.
func (c *connection) retire() { c.client.CloseIdleConnections() }
