package probe

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2"

	"sidestep/pkg/check"
)

const (
	// maxCached is how many Specs are kept prepared. Reloads leave old ones
	// behind; when there are more than this, all are forgotten and made again.
	maxCached = 1024

	// defaultBodyLimit stands in for a Spec without a body limit.
	defaultBodyLimit = 64 << 10

	userAgent = "sidestep"
)

// shared is what all probes of one Spec have in common. It is read-only.
type shared struct {
	dialer  net.Dialer
	source  netip.Addr // zero when the kernel chooses
	port    uint16
	secrets *strings.Replacer // nil without request headers
	tls     *tls.Config       // nil in the clear

	tcp  *check.TCP  // for TCP; nil when connecting is all
	icmp *check.ICMP // for ICMP only

	// For HTTP only.
	spec     *check.HTTP
	request  []byte        // as it goes to the wire
	request2 []byte        // the same for HTTP/2, with what comes before it; nil in the clear
	window   int64         // bytes of body that HTTP/2 lets come
	asked    *http.Request // tells the response's reader the method
	accepts  []check.StatusRange
	fields   []field
	limit    int64 // bytes of body, decoded
}

// readsBody tells whether the check asks anything of the body.
func (s *shared) readsBody() bool { return s.spec.Body != nil || len(s.fields) > 0 }

// wireLimit is how many bytes a body may take on the wire. Chunks of one byte
// need six, and gzip may spend bytes on nothing at all.
func (s *shared) wireLimit() int64 { return 8*s.limit + 64<<10 }

// cache keeps what was prepared, by Spec.
type cache struct {
	mu     sync.RWMutex
	bySpec map[*check.Spec]*shared
}

// of gives what was prepared for spec, and prepares it at the first call. A
// Spec that cannot be probed is not kept: its failure is rare and cheap.
func (c *cache) of(spec *check.Spec, options Options) (*shared, *failure) {
	c.mu.RLock()
	known := c.bySpec[spec]
	c.mu.RUnlock()
	if known != nil {
		return known, nil
	}
	made, err := prepare(spec, options)
	if err != nil {
		return nil, unknown(check.PhaseResolve, "prepare check %s: %v", spec.Name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bySpec == nil || len(c.bySpec) >= maxCached {
		c.bySpec = make(map[*check.Spec]*shared)
	}
	c.bySpec[spec] = made
	return made, nil
}

// prepare works out what the probes of spec share.
func prepare(spec *check.Spec, options Options) (*shared, error) {
	s := &shared{dialer: dialer(spec.Source), source: spec.Source}
	switch {
	case spec.Kind == check.KindTCP && spec.TCP != nil:
		return s, s.prepareTCP(spec.TCP, options)
	case spec.Kind == check.KindICMP && spec.ICMP != nil:
		s.icmp = spec.ICMP
		return s, nil
	case spec.Kind == check.KindHTTP && spec.HTTP != nil:
		return s, s.prepareHTTP(spec.HTTP, options)
	}
	return nil, fmt.Errorf("kind %q: expected http, tcp or icmp with its settings", spec.Kind)
}

func (s *shared) prepareHTTP(spec *check.HTTP, options Options) error {
	s.spec, s.port = spec, spec.Port
	s.secrets = masks(spec.Headers)
	s.fields = fields(spec.JSON)
	s.limit = spec.BodyLimit
	if s.limit <= 0 {
		s.limit = defaultBodyLimit
	}
	s.accepts = spec.Status
	if len(s.accepts) == 0 {
		s.accepts = []check.StatusRange{{Low: 200, High: 299}}
	}
	if err := s.prepareRequest(); err != nil || spec.Scheme != "https" {
		return err
	}
	protocols := []string{http2.NextProtoTLS, "http/1.1"}
	if spec.HTTP1 {
		protocols = protocols[1:]
	}
	var err error
	if s.tls, err = prepareTLS(spec.TLS, cmp.Or(spec.TLS.ServerName, spec.Host), protocols, options); err != nil {
		return err
	}
	return s.prepareHTTP2()
}

// prepareRequest writes the request once for all probes.
func (s *shared) prepareRequest() error {
	spec := s.spec
	authority := cmp.Or(spec.Authority, spec.Host)
	// The path may hold a token, so an error of its parser, which quotes it,
	// is not passed on.
	path, err := url.ParseRequestURI(cmp.Or(spec.Path, "/"))
	if err != nil {
		return errors.New("read path: expected path and query of a URL, beginning with /")
	}
	s.asked = &http.Request{
		Method: cmp.Or(spec.Method, http.MethodGet),
		URL:    &url.URL{Scheme: spec.Scheme, Host: authority, Path: path.Path, RawPath: path.RawPath, RawQuery: path.RawQuery},
		Host:   authority,
		Header: http.Header{"User-Agent": {userAgent}, "Accept-Encoding": {"identity"}},
		Close:  true, // one connection for each probe
	}
	if !httpguts.ValidHeaderFieldName(s.asked.Method) {
		return fmt.Errorf("read method %q: expected a token such as GET", s.asked.Method)
	}
	if err := s.addHeaders(); err != nil {
		return err
	}
	var wire bytes.Buffer
	if err := s.asked.Write(&wire); err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	s.request = wire.Bytes()
	return nil
}

// addHeaders sets the headers of the check, which replace those of the probe.
// Bad ones are refused, for the standard library would drop them in silence.
func (s *shared) addHeaders() error {
	seen := make(map[string]bool)
	for _, header := range s.spec.Headers {
		if !httpguts.ValidHeaderFieldName(header.Name) || !httpguts.ValidHeaderFieldValue(header.Value) {
			return fmt.Errorf("read header %q: expected a name and value of RFC 9110 section 5", header.Name)
		}
		name := http.CanonicalHeaderKey(header.Name)
		switch {
		case name == "Host":
			s.asked.Host = header.Value
		case seen[name]:
			s.asked.Header.Add(name, header.Value)
		default:
			s.asked.Header.Set(name, header.Value)
		}
		seen[name] = true
	}
	return nil
}
