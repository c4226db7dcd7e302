package check

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// Same reports whether two specs probe in the same way and judge by the same
// numbers, so that what was counted under the one holds under the other.
func (s *Spec) Same(o *Spec) bool {
	if s == nil || o == nil {
		return s == o
	}
	return s.Fingerprint() == o.Fingerprint() && slices.Equal(s.headers(), o.headers()) && bytes.Equal(s.key(), o.key())
}

func (s *Spec) key() []byte {
	switch {
	case s.HTTP != nil && len(s.HTTP.TLS.Key) > 0:
		return s.HTTP.TLS.Key
	case s.TCP != nil && s.TCP.TLS != nil:
		return s.TCP.TLS.Key
	}
	return nil
}

func (s *Spec) headers() []Header {
	if s.HTTP == nil {
		return nil
	}
	return s.HTTP.Headers
}

// Fingerprint names the definition: 16 hexadecimal digits that change when
// anything changes that a verdict may depend on. The values of headers and the
// keys of clients are secrets and leave no trace in it, since it is stored.
func (s *Spec) Fingerprint() string {
	sum := sha256.New()
	fmt.Fprintln(sum, s.Name, s.Kind, s.Interval, s.Timeout, s.Fall, s.Rise, s.Source)
	if s.FastInter > 0 {
		fmt.Fprintln(sum, "fastinter", s.FastInter)
	}
	if c := s.Cooldown; c != nil {
		fmt.Fprintln(sum, "cooldown", c.Base, c.Factor, c.Max)
	}
	for _, cause := range slices.Sorted(maps.Keys(s.Causes)) {
		fmt.Fprintln(sum, "cause", cause, s.Causes[cause])
	}
	if h := s.HTTP; h != nil {
		fmt.Fprintf(sum, "%q %q %d %q %q %q %d\n", h.Scheme, h.Host, h.Port, h.Authority, h.Path, h.Method, h.BodyLimit)
		fmt.Fprintln(sum, h.Status)
		if h.Body != nil {
			fmt.Fprintf(sum, "body %q\n", h.Body)
		}
		for _, path := range slices.Sorted(maps.Keys(h.JSON)) {
			fmt.Fprintf(sum, "json %q %q\n", path, h.JSON[path])
		}
		for _, header := range h.Headers {
			fmt.Fprintf(sum, "header %q\n", header.Name)
		}
		fmt.Fprint(sum, h.TLS.definition())
		fmt.Fprintln(sum, "http1", h.HTTP1)
	}
	if t := s.TCP; t != nil {
		fmt.Fprintf(sum, "tcp %d %q\n", t.Port, t.Send)
		if t.Expect != nil {
			fmt.Fprintf(sum, "expect %q\n", t.Expect)
		}
		if t.TLS != nil {
			fmt.Fprint(sum, t.TLS.definition())
		}
	}
	if s.ICMP != nil {
		fmt.Fprintln(sum, "icmp", s.ICMP.Count, s.ICMP.MaxLoss)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

// definition is all of it but the secret.
func (t *TLS) definition() string {
	return fmt.Sprintf("tls %q %q %q\n", t.ServerName, t.CA, t.Cert)
}
