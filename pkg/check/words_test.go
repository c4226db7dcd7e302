package check_test

import (
	"regexp"
	"strings"
	"testing"

	"sidestep/pkg/check"
)

func TestAsserted(t *testing.T) {
	web := func(change func(*check.HTTP)) *check.Spec {
		h := &check.HTTP{
			Scheme: "https", Host: "www.example.com", Authority: "www.example.com", Path: "/healthz", Method: "GET",
			Status: []check.StatusRange{{Low: 200, High: 299}},
		}
		change(h)
		return &check.Spec{Kind: check.KindHTTP, HTTP: h}
	}
	tcp := func(s check.TCP) *check.Spec { return &check.Spec{Kind: check.KindTCP, TCP: &s} }
	for want, spec := range map[string]*check.Spec{
		"GET https://www.example.com/healthz: status 2xx": web(func(*check.HTTP) {}),
		`GET https://www.example.com/healthz: status 2xx, body ~ "\"ok\"", json db.state = "all well", json status = ok`: web(func(h *check.HTTP) {
			h.Body = regexp.MustCompile(`"ok"`)
			h.JSON = map[string]string{"status": "ok", "db.state": "all well"}
		}),
		"HEAD http://www.example.com:8080/a?…: status 204 or 301-302, sent with X-Key and Accept": web(func(h *check.HTTP) {
			h.Scheme, h.Authority, h.Path, h.Method = "http", "www.example.com:8080", "/a?token=MARKER", "HEAD"
			h.Status = []check.StatusRange{{Low: 204, High: 204}, {Low: 301, High: 302}}
			h.Headers = []check.Header{{Name: "X-Key", Value: "MARKER"}, {Name: "Accept", Value: "MARKER"}}
		}),
		"GET https://www.example.com/healthz: status 2xx, certificate for lb.example.net, signed by the check's ca, sent with a client certificate": web(func(h *check.HTTP) {
			h.TLS = check.TLS{ServerName: "lb.example.net", CA: []byte("MARKER"), Cert: []byte("MARKER"), Key: []byte("MARKER")}
		}),
		`GET https://www.example.com/healthz: status 2xx, json a = "", json b = "\x1b[31m"`: web(func(h *check.HTTP) {
			h.JSON = map[string]string{"a": "", "b": "\x1b[31m"}
		}),
		"TCP connect to port 22":                 tcp(check.TCP{Port: 22}),
		`TCP connect to port 22, expect "^SSH-"`: tcp(check.TCP{Port: 22, Expect: regexp.MustCompile("^SSH-")}),
		`TCP connect to port 6380, TLS, certificate for cache, send 6 bytes, expect "OK\\b"`: tcp(check.TCP{
			Port: 6380, Send: "MARKER", TLS: &check.TLS{ServerName: "cache"}, Expect: regexp.MustCompile(`OK\b`),
		}),
		"3 echo requests, loss at most 34%": {Kind: check.KindICMP, ICMP: &check.ICMP{Count: 3, MaxLoss: 34}},
		"1 echo request, loss at most 0%":   {Kind: check.KindICMP, ICMP: &check.ICMP{Count: 1}},
		"icmp":                              {Kind: check.KindICMP},
	} {
		got := spec.Asserted()
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if strings.Contains(got, "MARKER") {
			t.Errorf("%s shows what may be a secret", got)
		}
	}
}
