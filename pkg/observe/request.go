package observe

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/record"
)

// Request is what is asked of the backends, over and over.
type Request struct {
	HTTP     check.HTTP // its Status, Body and JSON count for nothing: what comes is reported, not judged
	Identity Identity
	Via      *Via // nil dials what the resolver answers
	// Source is the address that requests leave from, but to a Via; the zero Addr lets
	// the kernel choose.
	Source netip.Addr
}

// Reply is what came of one request.
type Reply struct {
	Address  netip.AddrPort // what was dialled: it is the socket peer once there is a connection
	Opened   time.Time      // when the connection was there; zero without one
	Requests int            // of this connection, this one included
	Protocol string         // "HTTP/1.1", "HTTP/2.0"; empty without an answer
	Status   int            // 0 without an answer
	Identity string         // of the backend, escaped, one line of 64 characters at most; empty when none was asked for or found
	Missing  string         // why no identity was found, though one was asked for
	Phase    check.Phase    // where the request failed; empty when an answer came
	Cause    check.Cause    // why
	Detail   string         // in words
	Ended    *End           // that the kept connection ended, as noticed now: this one after its answer, else the one before it
	At       time.Time      // when it began
	Took     time.Duration
}

// Reached reports whether an answer came.
func (r Reply) Reached() bool { return r.Phase == "" && r.Status > 0 }

// Connected reports whether there was a connection.
func (r Reply) Connected() bool { return !r.Opened.IsZero() }

// Side is who ended a connection.
type Side string

// The sides.
const (
	ByServer Side = "server" // or what stands between, as a reset cannot be told apart
	ByUs     Side = "sidestep"
)

// End is the end of a kept connection.
type End struct {
	Address netip.AddrPort // its peer
	At      time.Time      // when it was it was noticed
	By      Side
	How     string // in words
}

// Via is what stands between: its address stays while what is behind it moves.
type Via struct {
	proxy *url.URL // nil for a gateway
	host  string
	port  uint16
}

// ParseVia reads what requests go through.
//
//   - http://HOST:PORT is an HTTP proxy, port 80 unless given. An https URL is
//     asked through a tunnel (CONNECT), an http URL in absolute form (RFC 9112
//     section 3.2.2), which gateways as HAProxy and nginx take as well. A user and
//     password in it are sent as Basic credentials.
//   - tcp://HOST:PORT is a gateway that stands in for the servers: it is dialled
//     instead of the resolver's answer, and all else stays as it is, Host, SNI
//     and the check of the certificate included.
//
// The name of a proxy or gateway is resolved as every program of this machine
// does. Messages never show the URL: people put passwords there.
func ParseVia(text string) (*Via, error) {
	const expected = "expected http://HOST:PORT of a proxy, or tcp://HOST:PORT of a gateway"
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return nil, errors.New("read via: " + expected)
	}
	port, err := strconv.ParseUint(orElse(u.Port(), map[string]string{"http": "80"}[u.Scheme]), 10, 16)
	switch {
	case u.Scheme != "http" && u.Scheme != "tcp":
		return nil, fmt.Errorf("read via: %s, got %q", expected, clean(u.Scheme+":"))
	case err != nil || port == 0:
		return nil, errors.New("read via: expected a port from 1 to 65535, as tcp://192.0.2.1:443")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("read via: expected nothing behind the port; what is asked for is the url")
	case u.Scheme == "tcp" && u.User != nil:
		return nil, errors.New("read via: a gateway takes no user; expected tcp://HOST:PORT")
	}
	v := &Via{host: u.Hostname(), port: uint16(port)}
	if u.Scheme == "http" {
		v.proxy = &url.URL{Scheme: "http", Host: net.JoinHostPort(v.host, strconv.Itoa(int(v.port))), User: u.User}
	}
	return v, nil
}

// String is the way without user and password.
func (v *Via) String() string {
	scheme := "tcp://"
	if v.proxy != nil {
		scheme = "http://"
	}
	return scheme + net.JoinHostPort(v.host, strconv.Itoa(int(v.port)))
}

// message is the request as it is sent.
func (r *Request) message() (*http.Request, error) {
	h := &r.HTTP
	path, err := url.ParseRequestURI(orElse(h.Path, "/"))
	if err != nil {
		return nil, errors.New("read path: expected path and query of a URL, beginning with /") // it may hold a token, and the parser's error quotes it
	}
	authority := orElse(h.Authority, h.Host)
	request := &http.Request{
		Method: orElse(h.Method, http.MethodGet),
		URL:    &url.URL{Scheme: h.Scheme, Host: authority, Path: path.Path, RawPath: path.RawPath, RawQuery: path.RawQuery},
		Host:   authority,
		Header: http.Header{"User-Agent": {"sidestep"}, "Accept-Encoding": {"identity"}},
	}
	own := http.Header{}
	for _, header := range h.Headers {
		own.Add(header.Name, header.Value)
	}
	maps.Copy(request.Header, own) // they replace those of ours
	return request, nil
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// mask takes the secrets of the request out of text of a server.
func (r *Request) mask(text string) string {
	for _, secret := range r.secrets() {
		if len(secret) >= minSecret {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return text
}

// secrets are the header values, and what the proxy is told of its user.
func (r *Request) secrets() []string {
	var list []string
	for _, header := range r.HTTP.Headers {
		_, credentials, _ := strings.Cut(header.Value, " ")
		list = append(list, header.Value, credentials)
	}
	if r.Via != nil && r.Via.proxy != nil && r.Via.proxy.User != nil {
		user := r.Via.proxy.User
		password, _ := user.Password()
		list = append(list, base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)), password)
	}
	return list
}

// minSecret is the length below which a header value is no secret that could be
// kept: masking every "1" would only make texts unreadable.
const minSecret = 4

// dialled sorts the addresses that a resolver gave into those that are dialled,
// and why the others are not. What leads to this machine or its neighbours is
// never dialled, as filtering resolvers answer so; loopback is in a lab.
func dialled(addresses []string, port uint16, loopback bool) (to []netip.AddrPort, refused []string) {
	for _, text := range addresses {
		addr, err := record.ParseAddress(text)
		switch {
		case err != nil:
			refused = append(refused, fmt.Sprintf("%s is not dialled: it can be no server's, as a filtering resolver answers", clean(text)))
		case addr.IsLoopback() && !loopback:
			refused = append(refused, text+" is not dialled: it is this machine, as a filtering resolver answers")
		default:
			to = append(to, netip.AddrPortFrom(addr, port))
		}
	}
	return to, refused
}
