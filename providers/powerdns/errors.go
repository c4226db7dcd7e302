package powerdns

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi"
)

var errChanged = errors.New("the record set is not what the list said")

// maxRefusal is how much is read of an answer that is no success.
const maxRefusal = 64 << 10

// half is a list that cannot be the whole zone: it says nothing about it.
func half(op string, err error) error {
	return &provider.Error{
		Class: provider.Retryable, Op: op, Code: "half a list", Err: err,
		Hint: "nothing is decided from it; the zone is listed again",
	}
}

// isCopy refuses a write to a zone that PowerDNS copies from another server.
func (a *Adapter) isCopy(op string, h head) error {
	failed := provider.Failf(provider.Permanent, op, h.Kind, "PowerDNS copies this zone from another server: what is written here is gone with the next transfer")
	failed.Hint = "give sidestep the API of the zone's primary server"
	return failed
}

// refusal classes an answer that is no success, with PowerDNS' own words.
func (a *Adapter) refusal(op string, write bool, reply *httpapi.Reply) error {
	e := httpapi.Classify(op, write, reply)
	if httpapi.Page(reply.Header, reply.Body) != nil {
		return e
	}
	text := a.said(reply.Body)
	if text != "" {
		e.Err = errors.New(text)
	}
	a.advise(e, write, reply.Status, text)
	return e
}

// advise adds what a person can do, and mends the class where the text says more
// than the status.
func (a *Adapter) advise(e *provider.Error, write bool, status int, text string) {
	missing := fmt.Sprintf("server %s has no zone %s, or this is not its API: see pdnsutil list-all-zones, and endpoint and server_id of the zone", a.server, a.zone)
	switch {
	case status == http.StatusUnauthorized:
		e.Hint = "api_key is not the api-key of pdns.conf: correct it; then: sidestep validate --online"
	case status == http.StatusForbidden:
		e.Hint = "see webserver-allow-from of pdns.conf, and what stands between; then: sidestep validate --online"
	case status == http.StatusNotFound:
		e.Hint = missing
	case status == http.StatusMethodNotAllowed:
		e.Hint = "the API may be read only: see api-readonly of pdns.conf (before 4.3), and what stands between"
	case status == http.StatusUnprocessableEntity && strings.Contains(text, "Could not find domain"):
		e.Hint = missing
	case status == http.StatusUnprocessableEntity && strings.Contains(text, "Conflicts with"):
		e.Class = provider.Conflict
	case status == http.StatusUnprocessableEntity && strings.Contains(text, "comments"):
		e.Hint = "the backend keeps no comments, in which sidestep marks what it paused: use provider: rfc2136 on PowerDNS' DNSUPDATE"
	case status == http.StatusUnprocessableEntity:
		e.Hint = "see pdnsutil check-zone " + a.zone.Unrooted()
	case status == http.StatusInternalServerError && !write:
		e.Hint = "the reason is in PowerDNS' log; one record that it cannot read fails every list: pdnsutil check-zone " + a.zone.Unrooted()
	}
}

// said is PowerDNS' text for people, on one line.
func (a *Adapter) said(body []byte) string {
	var answer struct {
		Error  string   `json:"error"`
		Errors []string `json:"errors"`
	}
	text := string(body)
	if err := json.Unmarshal(body, &answer); err == nil && answer.Error != "" {
		text = strings.Join(append([]string{answer.Error}, answer.Errors...), "; ")
	}
	return httpapi.Foreign(text, a.key)
}

// explained adds what PowerDNS needs before it listens, and what it means by
// closing a connection: it does so to addresses that webserver-allow-from does not
// name, before it reads a word.
func (a *Adapter) explained(err error) error {
	var failed *provider.Error
	switch {
	case !errors.As(err, &failed):
	case errors.Is(err, syscall.ECONNREFUSED):
		failed.Hint = "nothing listens there: see endpoint on the zone, and that pdns.conf has webserver=yes, api=yes and this port as webserver-port"
	case failed.Hint == "" && (errors.Is(err, io.EOF) || strings.Contains(err.Error(), "connection reset")):
		failed.Hint = "the connection was closed without an answer: webserver-allow-from of pdns.conf may not have this host's address"
	}
	return err
}
