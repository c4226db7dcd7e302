package powerdns

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/provider/providertest/realserver"
	"sidestep/providers/powerdns/powerdnstest"
)

// failed checks the class and code of an error, that its text has a part, and that
// it is one line without the key.
func failed(t *testing.T, err error, class provider.Class, code, part string) {
	t.Helper()
	var typed *provider.Error
	if !errors.As(err, &typed) {
		t.Fatalf("expected a *provider.Error, got %T: %v", err, err)
	}
	if typed.Class != class || typed.Code != code || !strings.Contains(err.Error(), part) {
		t.Errorf("expected class %v, code %q and %q in the text, got class %v, code %q: %v", class, code, part, typed.Class, typed.Code, err)
	}
	if strings.ContainsAny(err.Error(), "\n\r") || strings.Contains(err.Error(), realserver.PowerDNSKey) {
		t.Errorf("expected one line without the key, got %q", err)
	}
}

const htmlPage = "<!DOCTYPE html>\n<html><body>192.0.2.66 Bad gateway</body></html>"

func headed(soa, rest string) string {
	return `{"name":"example.com.","kind":"Native","rrsets":[{"name":"example.com.","type":"SOA","ttl":60,"records":[{"content":"` + soa + `"}]}],` + rest + `}`
}

// An answer with nothing in it, or without what every zone has, is no empty zone:
// ten rounds of each, no write, and then the list as it was.
func TestCase65EmptyListIsNoEmptyZone(t *testing.T) {
	f, a := start(t, wwwZone)
	call := pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")
	for what, body := range map[string]string{
		"nothing":           ``,
		"null":              `null`,
		"an empty object":   `{}`,
		"an empty list":     `[]`,
		"null sets":         `{"name":"example.com.","rrsets":null,"serial":7}`,
		"no sets":           `{"name":"example.com.","rrsets":[],"serial":7}`,
		"no SOA":            `{"name":"example.com.","rrsets":[{"name":"www.example.com.","type":"A","ttl":60,"records":[{"content":"192.0.2.10"}]}],"serial":7}`,
		"another zone":      strings.Replace(headed("a. b. 7 1 1 1 1", `"serial":7`), `"example.com."`, `"example.org."`, 1),
		"a short SOA":       headed("a. b.", `"serial":7`),
		"a strange serial":  headed("a. b. c 1 1 1 1", `"serial":7`),
		"an error in a 200": `{"error":"Internal error","rrsets":[]}`,
		"a cut answer":      `{"name":"example.com.","rrsets":[{"name":"exam`,
	} {
		for range 10 {
			f.Forget()
			f.Arm(powerdnstest.Reads, 0, httpfake.Fault{Status: http.StatusOK, Body: body})
			seen, err := a.List(t.Context())
			if seen != nil || provider.ClassOf(err) != provider.Retryable {
				t.Errorf("%s: expected no snapshot and Retryable, got %v, %v", what, seen, err)
			}
			f.Arm(powerdnstest.Reads, 0, httpfake.Fault{Status: http.StatusOK, Body: body})
			if err := a.TakeAway(t.Context(), call); provider.ClassOf(err) != provider.Retryable {
				t.Errorf("%s: a write expected Retryable, got %v", what, err)
			}
			if n := len(writesOf(f)); n != 0 {
				t.Fatalf("%s: %d writes", what, n)
			}
		}
	}
	if got := listed(t, a).Set(wwwA).Live(); len(got) != 2 {
		t.Errorf("afterwards: got %v", got)
	}
}

// A zone that changes between the head of the answer and its sets is read again.
func TestTornListIsReadAgain(t *testing.T) {
	f, a := start(t, wwwZone)
	torn := httpfake.Fault{Status: http.StatusOK, Body: headed("a. b. 8 1 1 1 1", `"serial":7`)}
	f.Arm(powerdnstest.Reads, 0, torn)
	if got := listed(t, a).Set(wwwA).Live(); len(got) != 2 {
		t.Errorf("got %v", got)
	}
	for range rereads {
		f.Arm(powerdnstest.Reads, 0, torn)
	}
	_, err := a.List(t.Context())
	failed(t, err, provider.Retryable, "half a list", "serial 7 and has an SOA of serial 8")
}

// What gateways answer in PowerDNS' place: none of it is read as a zone, and what it
// leaves open is said.
func TestCase72WhatGatewaysAnswer(t *testing.T) {
	f, a := start(t, wwwZone)
	call := pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")
	html := http.Header{"Content-Type": {"text/html"}}
	for _, row := range []struct {
		what        string
		fault       httpfake.Fault
		code        string
		part        string
		read, write provider.Class
	}{
		{"502 page", httpfake.Fault{Status: 502, Header: html, Body: htmlPage}, "HTTP 502", "an HTML page", provider.Retryable, provider.Ambiguous},
		{"200 page", httpfake.Fault{Status: 200, Header: html, Body: htmlPage}, "HTTP 200", "an HTML page", provider.Retryable, provider.Ambiguous},
		{"page without a type", httpfake.Fault{Status: 200, Body: htmlPage}, "HTTP 200", "an HTML page", provider.Retryable, provider.Ambiguous},
		{"503 empty", httpfake.Fault{Status: 503}, "HTTP 503", "", provider.Retryable, provider.Ambiguous},
		{"520", httpfake.Fault{Status: 520, Body: "error"}, "HTTP 520", "error", provider.Retryable, provider.Ambiguous},
		{"BOM", httpfake.Fault{Status: 200, Body: "\xef\xbb\xbf{}"}, "HTTP 200", "invalid character", provider.Retryable, provider.Ambiguous},
		{"binary", httpfake.Fault{Status: 200, Body: "\x1f\x8b\x08\x00"}, "HTTP 200", "", provider.Retryable, provider.Ambiguous},
		{"302", httpfake.Fault{Status: 302, Header: http.Header{"Location": {"/login"}}}, "HTTP 302", "endpoint", provider.Permanent, provider.Ambiguous},
		{"404 page", httpfake.Fault{Status: 404, Header: html, Body: htmlPage}, "HTTP 404", "an HTML page", provider.Retryable, provider.Ambiguous},
		{"429", httpfake.Fault{Status: 429, Header: http.Header{"Retry-After": {"7"}}}, "HTTP 429", "", provider.Retryable, provider.Retryable},
	} {
		f.Arm(powerdnstest.Reads, 0, row.fault)
		seen, err := a.List(t.Context())
		if seen != nil {
			t.Errorf("%s: got a snapshot", row.what)
		}
		failed(t, err, row.read, row.code, row.part)
		f.Arm(powerdnstest.Writes, 0, row.fault)
		failed2(t, row.what, a.TakeAway(t.Context(), call), row.write, row.code)
	}
	if len(f.History()) != 0 {
		t.Errorf("something was written: %q", f.History())
	}
	if err := a.TakeAway(t.Context(), call); err != nil {
		t.Errorf("when the API is back: %v", err)
	}
}

func failed2(t *testing.T, what string, err error, class provider.Class, code string) {
	t.Helper()
	var typed *provider.Error
	if !errors.As(err, &typed) || typed.Class != class || typed.Code != code {
		t.Errorf("%s: a write expected %v with code %s, got %v", what, class, code, err)
	}
}

// The key is replaced while we run: each call is refused for good, in words that say
// where to look, and the new key works without a restart of the server.
func TestCase74KeyReplaced(t *testing.T) {
	f, a := start(t, wwwZone)
	call := pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")
	wrong := settings(f)
	wrong.Secrets = map[string]provider.Secret{"api_key": provider.NewSecret("old key")}
	b, err := build(wrong)
	if err != nil {
		t.Fatal(err)
	}
	f.Forget()
	_, listErr := b.List(t.Context())
	_, inspectErr := b.Inspect(t.Context())
	for _, err := range []error{listErr, inspectErr, b.TakeAway(t.Context(), call)} {
		failed(t, err, provider.Permanent, "HTTP 401", "api-key of pdns.conf")
	}
	if n := len(f.Requests()); n != 3 {
		t.Errorf("three calls made %d requests", n)
	}
	f.Arm(powerdnstest.Writes, 0, httpfake.Fault{Status: 403, Body: "Forbidden"})
	failed(t, a.TakeAway(t.Context(), call), provider.Permanent, "HTTP 403", "webserver-allow-from")
	f.Arm(powerdnstest.Writes, 0, httpfake.Fault{Status: 405, Body: "Method Not Allowed"})
	failed(t, a.TakeAway(t.Context(), call), provider.Permanent, "HTTP 405", "read only")
	if err := a.TakeAway(t.Context(), call); err != nil {
		t.Error(err)
	}
}

// Nothing listens where the API should be: the words are of the three settings that
// make PowerDNS listen.
func TestNothingListens(t *testing.T) {
	f, _ := start(t, wwwZone)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := settings(f)
	s.Options["endpoint"] = "http://" + listener.Addr().String()
	_ = listener.Close()
	a, err := build(s)
	if err != nil {
		t.Fatal(err)
	}
	_, listErr := a.List(t.Context())
	_, inspectErr := a.Inspect(t.Context())
	for _, err := range []error{listErr, inspectErr} {
		failed(t, err, provider.Retryable, "unreachable", "webserver=yes, api=yes")
	}
}

// While the list fails the write, which works, does not happen.
func TestCase76FailedListIsNoZone(t *testing.T) {
	f, a := start(t, wwwZone)
	call := pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")
	f.Forget()
	for _, fault := range []httpfake.Fault{{Drop: true}, {Status: 404, Body: "Not Found"}, {Status: 422, Body: `{"error":"Could not find domain 'example.com.'"}`}} {
		f.Arm(powerdnstest.Reads, 0, fault)
		if seen, err := connect(t, f).List(t.Context()); seen != nil || err == nil {
			t.Errorf("%+v: got %v, %v", fault, seen, err)
		}
		f.Arm(powerdnstest.Reads, 0, fault) // a new connection each: on a kept one net/http asks again
		if err := connect(t, f).TakeAway(t.Context(), call); err == nil || provider.ClassOf(err) == provider.Ambiguous {
			t.Errorf("%+v: got %v", fault, err)
		}
	}
	if n := len(writesOf(f)); n != 0 {
		t.Errorf("%d writes", n)
	}
}

// What PowerDNS itself refuses, with its own words.
func TestRefusals(t *testing.T) {
	f, a := start(t, wwwZone)
	other := settings(f)
	other.Zone = "example.org."
	b, err := build(other)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.List(t.Context())
	failed(t, err, provider.Permanent, "HTTP 404", "server localhost has no zone example.org.")
	wrong := settings(f)
	wrong.Options["server_id"] = "other"
	b, err = build(wrong)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Inspect(t.Context())
	failed(t, err, provider.Permanent, "HTTP 404", "correct endpoint and server_id")

	// An answer of the wrong kind is refused whole: of two sets, none is written.
	bad := []patch{{Name: "www.example.com.", Type: "A", ChangeType: "DELETE"}, rrset{Name: "x.example.com.", Type: "A"}.replaced(60, []member{{Content: "192.0.2.zz"}})}
	failed(t, a.send(t.Context(), "write", bad, nil), provider.Permanent, "HTTP 422", "unable to parse IP address")
	// A CNAME that somebody made in the gap.
	f.SQL("INSERT INTO records(domain_id,name,type,content,ttl,disabled,auth) VALUES (1,'c.example.com','CNAME','lb.example.net',60,0,1)")
	clash := []patch{rrset{Name: "c.example.com.", Type: "A"}.replaced(60, []member{{Content: "192.0.2.1"}})}
	failed(t, a.send(t.Context(), "write", clash, nil), provider.Conflict, "HTTP 422", "Conflicts with")
	if got := listed(t, a).Set(wwwA).Live(); len(got) != 2 {
		t.Errorf("www: got %v", got)
	}
	f.Arm(powerdnstest.Writes, 0, httpfake.Fault{Status: 422, Body: `{"error":"Hosting backend does not support editing comments."}`})
	failed(t, a.TakeAway(t.Context(), pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")), provider.Permanent, "HTTP 422", "provider: rfc2136")
	// Nobody there, and one who hangs up.
	f.Arm(powerdnstest.Reads, 0, httpfake.Fault{Drop: true})
	_, err = connect(t, f).List(t.Context())
	failed(t, err, provider.Retryable, "no-answer", "webserver-allow-from")
}

// A database has a value both enabled and disabled, in either order: a pause is
// told so, and neither sent to be refused nor taken for done.
func TestValueThatIsThereTwice(t *testing.T) {
	insert := "INSERT INTO records(domain_id,name,type,content,ttl,disabled,auth) VALUES (1,'www.example.com','A','192.0.2.10',60,%d,1);"
	for _, first := range []int{0, 1} {
		f, a := start(t, powerdnstest.Empty+"www 60 IN A 192.0.2.20\n")
		f.SQL(fmt.Sprintf(insert, first) + fmt.Sprintf(insert, 1-first))
		f.Forget()
		failed(t, a.TakeAway(t.Context(), pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")), provider.Permanent, "", "192.0.2.10 is there twice")
		if n := len(writesOf(f)); n != 0 {
			t.Errorf("%d writes", n)
		}
	}
}
