package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Asserted says in words what a probe does and what it expects, on one line of
// printable text: "GET https://www.example.com/healthz: status 2xx". What may
// be a secret is left out: values of headers, the query of a URL, what is sent
// over TCP, keys.
func (s *Spec) Asserted() string {
	switch {
	case s.HTTP != nil:
		return s.HTTP.asserted()
	case s.TCP != nil:
		return s.TCP.asserted()
	case s.ICMP != nil:
		return s.ICMP.asserted()
	}
	return string(s.Kind)
}

// URL is where the check asks. Its query is masked, as it may hold a token.
func (h *HTTP) URL() string {
	path, _, query := strings.Cut(h.Path, "?")
	if query {
		path += "?…"
	}
	return h.Scheme + "://" + h.Authority + path
}

func (h *HTTP) asserted() string {
	var parts []string
	var status []string
	for _, r := range h.Status {
		status = append(status, r.String())
	}
	if len(status) > 0 {
		parts = append(parts, "status "+strings.Join(status, " or "))
	}
	if h.Body != nil {
		parts = append(parts, "body ~ "+strconv.Quote(h.Body.String()))
	}
	for _, path := range slices.Sorted(maps.Keys(h.JSON)) {
		parts = append(parts, "json "+bare(path)+" = "+bare(h.JSON[path]))
	}
	if h.Scheme == "https" {
		parts = append(parts, h.TLS.words()...)
	}
	if len(h.Headers) > 0 {
		var names []string
		for _, header := range h.Headers {
			names = append(names, header.Name)
		}
		parts = append(parts, "sent with "+strings.Join(names, " and "))
	}
	return h.Method + " " + h.URL() + ": " + strings.Join(parts, ", ")
}

func (t *TCP) asserted() string {
	parts := []string{fmt.Sprintf("TCP connect to port %d", t.Port)}
	if t.TLS != nil {
		parts = append(append(parts, "TLS"), t.TLS.words()...)
	}
	if t.Send != "" {
		parts = append(parts, fmt.Sprintf("send %d bytes", len(t.Send)))
	}
	if t.Expect != nil {
		parts = append(parts, "expect "+strconv.Quote(t.Expect.String()))
	}
	return strings.Join(parts, ", ")
}

func (i *ICMP) asserted() string {
	if i.Count == 1 {
		return fmt.Sprintf("1 echo request, loss at most %d%%", i.MaxLoss)
	}
	return fmt.Sprintf("%d echo requests, loss at most %d%%", i.Count, i.MaxLoss)
}

// words say what is not the default.
func (t *TLS) words() []string {
	var parts []string
	if t.ServerName != "" {
		parts = append(parts, "certificate for "+t.ServerName)
	}
	if len(t.CA) > 0 {
		parts = append(parts, "signed by the check's ca")
	}
	if len(t.Cert) > 0 {
		parts = append(parts, "sent with a client certificate")
	}
	return parts
}

// String writes a range as the config has it: 2xx, 204 or 200-299.
func (r StatusRange) String() string {
	switch {
	case r.Low == r.High:
		return strconv.Itoa(r.Low)
	case r.Low%100 == 0 && r.High == r.Low+99:
		return strconv.Itoa(r.Low/100) + "xx"
	}
	return strconv.Itoa(r.Low) + "-" + strconv.Itoa(r.High)
}

// bare leaves a plain word without quotes.
func bare(text string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-/:+", r)
	}
	if text != "" && strings.TrimFunc(text, plain) == "" {
		return text
	}
	return strconv.Quote(text)
}
