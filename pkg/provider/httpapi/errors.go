package httpapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sidestep/pkg/provider"
)

// Broken classes a request that got no answer.
func Broken(op string, write bool, sent *Sent, err error) error {
	class := provider.Retryable
	if write && sent.Began() {
		class = provider.Ambiguous
	}
	e := &provider.Error{Class: class, Op: op, Err: plain(err)}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.Code = "timeout"
	case errors.Is(err, context.Canceled):
		e.Code = "canceled"
	case untrusted:
		e.Code, e.Hint = "certificate", "the API's certificate is not trusted: see this host's clock and CA certificates, and what stands between it and the API"
	case sent.Began():
		e.Code = "no-answer"
	default:
		e.Code, e.Hint = "unreachable", "the API could not be reached: see endpoint on the zone, and that this host has a route, a resolver and, where it needs one, HTTPS_PROXY"
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		e.Hint = "nothing listens there: see endpoint on the zone, HTTPS_PROXY where it is set, and that the API is running"
	}
	return e
}

// plain takes the URL out of net/http's error: the op says it better, and a
// query may hold what must not be logged.
func plain(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// Unreadable classes an answer that cannot be read: a page of something between
// us and the API, or a body that ends early.
func Unreadable(op string, write bool, status int, err error) error {
	return unreadable(op, write, status, err)
}

func unreadable(op string, write bool, status int, err error) *provider.Error {
	class := provider.Retryable
	if write {
		class = provider.Ambiguous
	}
	return &provider.Error{
		Class: class, Op: op, Code: "HTTP " + strconv.Itoa(status), Err: fmt.Errorf("the answer is not one of the API: %w", err),
		Hint: "something between this host and the API may have answered: see endpoint on the zone, and the proxy, where there is one",
	}
}

// Page is the error of a body that is a page for people, nil for any other.
func Page(header http.Header, body []byte) error {
	start := bytes.ToLower(bytes.TrimSpace(body[:min(len(body), 200)]))
	if strings.HasPrefix(header.Get("Content-Type"), "text/html") || bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html")) {
		return fmt.Errorf("an HTML page of %d bytes", len(body))
	}
	return nil
}

// Classify is what an HTTP status alone says: for adapters whose vendor's own
// code is missing from the answer, or not known to them. A write that was
// answered by a server error, a redirect or a page for people may have happened.
func Classify(op string, write bool, reply *Reply) *provider.Error {
	e := &provider.Error{Op: op, Code: "HTTP " + strconv.Itoa(reply.Status), After: RetryAfter(reply.Header)}
	unknown := provider.Retryable
	if write {
		unknown = provider.Ambiguous
	}
	if reply.Status != http.StatusTooManyRequests {
		e.After = min(e.After, maxOtherAfter)
	}
	page := Page(reply.Header, reply.Body)
	switch {
	case reply.Status == http.StatusTooManyRequests:
		e.Class, e.Err = provider.Retryable, errors.New("too many requests")
	case page != nil:
		foreign := unreadable(op, write, reply.Status, page)
		foreign.After = e.After
		return foreign
	case reply.Status >= 500:
		e.Class, e.Err = unknown, errors.New("the API has an internal error")
	case reply.Status >= 300 && reply.Status < 400:
		e.Class, e.Err = provider.Permanent, errors.New("the API answers with a redirect, which is not followed")
		e.Hint = "correct endpoint on the zone"
		if write {
			e.Class = provider.Ambiguous
		}
	case reply.Status == http.StatusRequestTimeout:
		e.Class, e.Err = unknown, errors.New("the API did not get the whole request in time")
	case reply.Status == http.StatusTooEarly:
		e.Class, e.Err = provider.Retryable, errors.New("the API wants the request again")
	case reply.Status == http.StatusUnauthorized:
		e.Class, e.Err = provider.Permanent, errors.New("the credential is not accepted")
		e.Hint = "see whether it expired or was replaced; then: sidestep validate --online"
	case reply.Status == http.StatusForbidden:
		e.Class, e.Err = provider.Permanent, errors.New("the credential may not do this")
		e.Hint = "see what it is allowed to do, and from which addresses; then: sidestep validate --online"
	case reply.Status == http.StatusNotFound:
		e.Class, e.Err = provider.Permanent, errors.New("the API refuses the request")
		e.Hint = "see endpoint on the zone: something else may be there"
	case reply.Status >= 400:
		e.Class, e.Err = provider.Permanent, errors.New("the API refuses the request")
	default:
		e.Class, e.Err = unknown, errors.New("an unexpected status")
	}
	return e
}

// maxAfter bounds what a server may ask us to wait: a wrong header must not
// keep a zone from being written for a day.
const maxAfter = 15 * time.Minute

// maxOtherAfter bounds it for every answer but "too many requests": a proxy's page
// knows nothing of when the API is back, and a failover must not wait for it.
const maxOtherAfter = 30 * time.Second

// RetryAfter reads Retry-After in seconds or as a date (RFC 9110 section
// 10.2.3); 0 when there is none.
func RetryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, maxAfter)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, min(time.Until(at), maxAfter))
	}
	return 0
}
