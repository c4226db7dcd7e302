package probe

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"

	"sidestep/pkg/check"
)

// judgeBody reads the body, as far as allowed, and looks for what the check
// asks of it.
func (a *attempt) judgeBody(response *http.Response) *failure {
	a.phase = check.PhaseBody
	body, whole, f := a.readBody(response)
	if f != nil {
		return f
	}
	a.phase = check.PhaseAssert
	if f := a.judgePattern(body, whole); f != nil {
		return f
	}
	return a.judgeFields(body, whole)
}

// readBody reads and decodes the body up to the limit, and tells whether that
// was all of it.
func (a *attempt) readBody(response *http.Response) (body []byte, whole bool, f *failure) {
	wire := &ending{from: response.Body}
	plain, encoding, f := a.decoder(response.Header.Get("Content-Encoding"), wire)
	if f != nil {
		return nil, false, f
	}
	body, err := io.ReadAll(io.LimitReader(plain, a.shared.limit+1))
	if int64(len(body)) > a.shared.limit {
		return body[:a.shared.limit], false, nil
	}
	if err != nil {
		return nil, false, a.failedBody(err, encoding, wire)
	}
	return body, true, nil
}

// decoder gives the reader that undoes a content encoding. Identity was asked
// for; gzip is what servers send all the same.
func (a *attempt) decoder(header string, wire *ending) (plain io.Reader, encoding string, f *failure) {
	switch encoding = strings.ToLower(strings.TrimSpace(header)); encoding {
	case "", "identity":
		return wire, "", nil
	case "gzip", "x-gzip":
		unzip, err := gzip.NewReader(wire)
		if errors.Is(err, io.EOF) {
			return wire, "", nil // an empty body has no encoding
		}
		if err != nil {
			return nil, "", a.failedBody(err, encoding, wire)
		}
		return unzip, encoding, nil
	}
	return nil, "", fail(a.phase, check.CauseMismatch, "cannot decode Content-Encoding %s: expected identity, as was asked for, or gzip", a.quote(header))
}

// failedBody judges an error of reading. What the decoder complains of, while
// the connection is fine, is the server's wrong encoding.
func (a *attempt) failedBody(err error, encoding string, wire *ending) *failure {
	if encoding != "" && (wire.err == nil || errors.Is(wire.err, io.EOF)) {
		return fail(a.phase, check.CauseMismatch, "the body is not the %s that its Content-Encoding says: %v", encoding, err)
	}
	return a.failed(err)
}

// judgePattern looks for the pattern in the first bytes of the body.
func (a *attempt) judgePattern(body []byte, whole bool) *failure {
	pattern := a.shared.spec.Body
	switch {
	case pattern == nil || pattern.Match(body):
		return nil
	case !whole:
		return fail(check.PhaseBody, check.CauseTooLarge, "expected a match of %s, not found in the first %d bytes (body_limit)", a.quote(pattern.String()), a.shared.limit)
	}
	return fail(a.phase, check.CauseMismatch, "expected a match of %s, got %s", a.quote(pattern.String()), a.quote(string(body)))
}

// judgeFields compares the JSON fields of a complete body.
func (a *attempt) judgeFields(body []byte, whole bool) *failure {
	if len(a.shared.fields) == 0 {
		return nil
	}
	if !whole {
		return fail(check.PhaseBody, check.CauseTooLarge, "expected JSON, which did not end in the first %d bytes (body_limit)", a.shared.limit)
	}
	document, err := parseJSON(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))) // RFC 8259 section 8.1: a byte order mark may be ignored
	if err != nil {
		return fail(a.phase, check.CauseMismatch, "expected JSON: %s, in %s", a.plain(err.Error()), a.quote(string(body)))
	}
	for _, want := range a.shared.fields {
		value, found := want.in(document)
		switch {
		case !found:
			return fail(a.phase, check.CauseMismatch, "field %q: expected %q, got no such field", want.path, want.text)
		case !same(value, want.text):
			return fail(a.phase, check.CauseMismatch, "field %q: expected %q, got %s", want.path, want.text, a.quote(show(value)))
		}
	}
	return nil
}

// ending remembers how the body ended below a decoder, which reports the end of
// a connection and the end of broken data by the same error.
type ending struct {
	from io.Reader
	err  error
}

// Read reads on and keeps the error.
func (e *ending) Read(p []byte) (int, error) {
	n, err := e.from.Read(p)
	e.err = err
	return n, err
}
