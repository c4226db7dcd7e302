package config

import (
	"fmt"
	"maps"
	"slices"

	"sidestep/pkg/check"
	"sidestep/pkg/provider"
)

func showCheck(spec *check.Spec, files TLSFiles) shown {
	s := shown{
		{"interval", spec.Interval},
		{"timeout", spec.Timeout},
		{"fall", spec.Fall},
		{"rise", spec.Rise},
	}
	if spec.Source.IsValid() {
		s = s.with("source", spec.Source.String())
	}
	if c := spec.Cooldown; c != nil {
		s = s.with("cooldown", shown{{"base", c.Base}, {"factor", c.Factor}, {"max", c.Max}})
	}
	if len(spec.Causes) > 0 {
		own := shown{}
		for _, cause := range slices.Sorted(maps.Keys(spec.Causes)) {
			own = own.with(string(cause), string(spec.Causes[cause]))
		}
		s = s.with("causes", own)
	}
	switch {
	case spec.HTTP != nil:
		return append(shown{{"http", showHTTP(spec.HTTP, files)}}, s...)
	case spec.TCP != nil:
		return append(shown{{"tcp", showTCP(spec.TCP, files)}}, s...)
	case spec.ICMP != nil:
		return append(shown{{"icmp", shown{{"count", spec.ICMP.Count}, {"max_loss", fmt.Sprintf("%d%%", spec.ICMP.MaxLoss)}}}}, s...)
	}
	return s
}

func showHTTP(h *check.HTTP, files TLSFiles) shown {
	var status []string
	for _, r := range h.Status {
		status = append(status, r.String())
	}
	s := shown{
		{"url", h.URL()},
		{"status", status},
		{"method", h.Method},
	}
	if len(h.Headers) > 0 {
		headers := shown{}
		for _, header := range h.Headers {
			headers = headers.with(header.Name, provider.NewSecret(header.Value).String())
		}
		s = s.with("headers", headers)
	}
	if h.Body != nil {
		s = s.with("body", h.Body.String())
	}
	if len(h.JSON) > 0 {
		fields := shown{}
		for _, path := range slices.Sorted(maps.Keys(h.JSON)) {
			fields = fields.with(path, h.JSON[path])
		}
		s = s.with("json", fields)
	}
	s = s.with("body_limit", showSize(h.BodyLimit))
	if h.Scheme == "http" {
		return s
	}
	return append(s.with("http2", !h.HTTP1), showTLS(h.TLS, files)...)
}

func showTCP(t *check.TCP, files TLSFiles) shown {
	s := shown{{"port", t.Port}}
	if t.Send != "" {
		s = s.with("send", provider.NewSecret(t.Send).String()) // a password may be in it
	}
	if t.Expect != nil {
		s = s.with("expect", t.Expect.String())
	}
	s = s.with("tls", t.TLS != nil)
	if t.TLS != nil {
		s = append(s, showTLS(*t.TLS, files)...)
	}
	return s
}

// showTLS writes where certificates and key stand, never what they are.
func showTLS(t check.TLS, files TLSFiles) shown {
	return shown{{"server_name", some(t.ServerName)}, {"ca", some(files.CA)}, {"cert", some(files.Cert)}, {"key", some(files.Key)}}
}
