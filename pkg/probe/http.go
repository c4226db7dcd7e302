package probe

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/http2"

	"sidestep/pkg/check"
)

const (
	maxHeaders = 64 << 10 // bytes of all status lines and headers of one answer
	maxInterim = 5        // interim (1xx) responses before the final one
)

// http makes the connection secure where asked, and the exchange over it.
func (a *attempt) http(conn net.Conn) *failure {
	if a.shared.tls == nil {
		return a.exchange(conn)
	}
	stream, f := a.secure(conn)
	switch {
	case f != nil:
		return f
	case stream.ConnectionState().NegotiatedProtocol == http2.NextProtoTLS:
		return a.exchange2(stream)
	}
	return a.exchange(stream)
}

// exchange sends the request and judges the answer.
func (a *attempt) exchange(stream io.ReadWriter) *failure {
	a.phase = check.PhaseSend
	if _, err := stream.Write(a.shared.request); err != nil {
		return a.failed(err)
	}
	in := pool.Get().(*reader)
	defer in.release()
	a.limit = maxHeaders
	in.begin(stream, a.limit)

	// The body is never closed: that would read it to its end. It holds
	// nothing; the connection ends with the probe.
	response, f := a.readHeaders(in) //nolint:bodyclose // see above
	if f != nil {
		return f
	}
	return a.judge(response, in, a.shared.wireLimit())
}

// judge holds a response against the check. Of the body, if that is looked at,
// limit bytes may come.
func (a *attempt) judge(response *http.Response, in *reader, limit int64) *failure {
	a.phase = check.PhaseAssert
	if !a.accepted(response.StatusCode) {
		return a.wrongStatus(response)
	}
	if !a.shared.readsBody() {
		return nil
	}
	a.limit, in.left = limit, limit
	return a.judgeBody(response)
}

// readHeaders reads up to the headers of the final response. 101 is final: no
// upgrade was asked for, so it will not be followed by another one.
func (a *attempt) readHeaders(in *reader) (*http.Response, *failure) {
	a.phase = check.PhaseHeaders
	for range maxInterim + 1 {
		response, err := http.ReadResponse(&in.buffered, a.shared.asked)
		switch {
		case err != nil && in.err != nil:
			return nil, a.cut(in) // the parser complains of what this left
		case err != nil:
			return nil, fail(a.phase, check.CauseMismatch, "expected HTTP/1.x, got %s: %s", a.quote(in.began()), a.plain(err.Error()))
		}
		if response.ProtoMajor != 1 {
			return nil, fail(a.phase, check.CauseMismatch, "expected HTTP/1.x, got %s", a.quote(response.Proto))
		}
		if response.StatusCode/100 != 1 || response.StatusCode == http.StatusSwitchingProtocols {
			return response, nil
		}
	}
	return nil, fail(a.phase, check.CauseMismatch, "more than %d interim responses and no final one", maxInterim)
}

// cut judges the end of an answer before its headers ended, and says what came.
func (a *attempt) cut(in *reader) *failure {
	f := a.failed(in.err)
	if f.outcome == check.Fail && in.kept > 0 {
		f.detail += "; it began with " + a.quote(in.began())
	}
	return f
}

func (a *attempt) accepted(status int) bool {
	for _, r := range a.shared.accepts {
		if r.Low <= status && status <= r.High {
			return true
		}
	}
	return false
}

// wrongStatus tells what came, what was expected, and where a redirect leads.
func (a *attempt) wrongStatus(response *http.Response) *failure {
	cause := check.CauseStatus
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		cause = check.CauseAuth
	}
	hint := ""
	if to := place(a.plain(response.Header.Get("Location"))); to != "" {
		hint = "; it redirects to " + a.quote(to) + ", and redirects are not followed"
	}
	return fail(a.phase, cause, "expected status %s, got %s%s", ranges(a.shared.accepts), a.quote(response.Status), hint)
}

// place is a redirect's goal without user, query and fragment, which may hold
// what nobody else should see; empty when it is no URL.
func place(location string) string {
	to, err := url.Parse(location)
	if err != nil {
		return ""
	}
	to.User, to.RawQuery, to.Fragment, to.ForceQuery = nil, "", "", false
	return to.String()
}

// ranges writes accepted statuses for people: "200-299, 401".
func ranges(list []check.StatusRange) string {
	words := make([]string, len(list))
	for i, r := range list {
		words[i] = strconv.Itoa(r.Low)
		if r.High != r.Low {
			words[i] += "-" + strconv.Itoa(r.High)
		}
	}
	return strings.Join(words, ", ")
}

// reader reads an answer and stops after a number of bytes. Buffers are reused,
// because every probe has its own connection and needs one.
type reader struct {
	from     io.Reader
	left     int64 // bytes that may still come
	err      error // what ended the reading
	first    [maxQuote]byte
	kept     int // bytes of first
	buffered bufio.Reader
}

var pool = sync.Pool{New: func() any { return new(reader) }}

func (r *reader) begin(from io.Reader, bound int64) {
	r.from, r.left, r.err, r.kept = from, bound, nil, 0
	r.buffered.Reset(r)
}

func (r *reader) release() {
	r.from, r.err = nil, nil
	pool.Put(r)
}

// Read reads at most what may still come.
func (r *reader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		r.err = errTooLarge
		return 0, r.err
	}
	n, err := r.from.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	r.err = err
	r.kept += copy(r.first[r.kept:], p[:n])
	return n, err
}

// began is how the answer began.
func (r *reader) began() string { return string(r.first[:r.kept]) }
