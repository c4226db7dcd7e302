package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"sidestep/pkg/check"
)

// httpURL takes the URL of an HTTP check and gives the part of a check.HTTP
// that follows from it. No message shows the URL: people put passwords there.
func httpURL() *kind {
	const word = "a URL such as https://www.example.com/healthz"
	return &kind{word: word, parse: func(s string) (any, *fault) {
		u, err := url.Parse(s)
		if err != nil {
			return nil, faultf("expected %s, got one that cannot be read", word).advise("look at its port, spaces and percent signs")
		}
		if f := refuseURL(u); f != nil {
			return nil, f
		}
		return fromURL(u)
	}}
}

// ParseURL reads a URL as that of an HTTP check, and gives the part of a
// check.HTTP that follows from it. The error never shows the URL.
func ParseURL(text string) (check.HTTP, error) {
	parsed, f := httpURL().parse(text)
	if f != nil {
		if f.hint != "" {
			return check.HTTP{}, fmt.Errorf("%s; %s", f.problem, f.hint)
		}
		return check.HTTP{}, errors.New(f.problem)
	}
	h, _ := parsed.(check.HTTP) // what httpURL makes
	return h, nil
}

func refuseURL(u *url.URL) *fault {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		// No more than the scheme: the rest may hold a password.
		got := "neither"
		if u.Scheme != "" {
			got = quote(u.Scheme + ":")
		}
		return faultf("expected a URL that begins with http:// or https://, got %s", got)
	case u.User != nil:
		return faultf("a user name or password in the URL is not sent").advise("give headers: {Authorization: env:NAME}")
	case u.Fragment != "":
		return faultf("a fragment (#…) in the URL is never sent").advise("remove it")
	case u.Opaque != "" || u.Hostname() == "":
		return faultf("expected a host name in the URL").advise("it gives Host, SNI and certificate name")
	}
	return nil
}

func fromURL(u *url.URL) (any, *fault) {
	host, isAddress, err := parseHost(u.Hostname())
	if err != nil {
		return nil, faultf("the host of the URL: %v", err)
	}
	h := check.HTTP{Scheme: u.Scheme, Host: host, Port: 80, Authority: host, Path: u.RequestURI()}
	if u.Scheme == "https" {
		h.Port = 443
	}
	if isAddress && strings.Contains(host, ":") {
		h.Authority = "[" + host + "]"
	}
	if port := u.Port(); port != "" {
		if !isPort(port) {
			return nil, faultf("expected a port from 1 to 65535 in the URL")
		}
		n, _ := strconv.ParseUint(port, 10, 16) // isPort parsed it
		if uint16(n) != h.Port {
			h.Authority += ":" + port
		}
		h.Port = uint16(n)
	}
	return h, nil
}

var statusText = regexp.MustCompile(`^(?:([1-5])xx|([1-5][0-9]{2})(?:-([1-5][0-9]{2}))?)$`)

// statusRange takes 2xx, 204 or 200-299.
func statusRange() *kind {
	const word = "a status such as 2xx, 204 or 200-299"
	return &kind{word: word, parse: func(s string) (any, *fault) {
		m := statusText.FindStringSubmatch(s)
		if m == nil {
			return nil, faultf("expected %s, got %s", word, quote(s))
		}
		number := func(s string) int {
			n, _ := strconv.Atoi(s) // digits, by the pattern
			return n
		}
		r := check.StatusRange{Low: number(m[2]), High: number(m[2])}
		switch {
		case m[1] != "":
			r.Low = 100 * number(m[1])
			r.High = r.Low + 99
		case m[3] != "":
			r.High = number(m[3])
		}
		if r.High < r.Low {
			return nil, faultf("expected %s, got %s, which ends before it begins", word, quote(s))
		}
		return r, nil
	}}
}

var headerToken = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// ownHeaders are set by the probe itself, or would break its framing.
var ownHeaders = map[string]string{
	"host":              "it comes from the url",
	"content-length":    "a probe has no body",
	"transfer-encoding": "a probe has no body",
	"connection":        "every probe has a connection of its own",
	"upgrade":           "a probe speaks plain HTTP",
	"expect":            "a probe has no body",
}
