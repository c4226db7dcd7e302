package probe

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"sidestep/pkg/check"
)

// prepareTCP works out what the probes of a TCP check share.
func (s *shared) prepareTCP(spec *check.TCP, options Options) (err error) {
	s.port = spec.Port
	s.secrets = mask(strings.TrimSpace(spec.Send)) // a password may be in it, and servers echo
	if spec.TLS != nil {
		if s.tls, err = prepareTLS(*spec.TLS, spec.TLS.ServerName, nil, options); err != nil {
			return err
		}
	}
	if spec.TLS != nil || spec.Send != "" || spec.Expect != nil {
		s.tcp = spec
	}
	return nil
}

// talk goes on after the connect: TLS, what is to be sent, and what has to come,
// as far as the check asks for them.
func (a *attempt) talk(conn net.Conn) *failure {
	spec := a.shared.tcp
	if a.shared.tls != nil {
		stream, f := a.secure(conn)
		if f != nil {
			return f
		}
		conn = stream
	}
	if spec.Send != "" {
		a.phase = check.PhaseSend
		if _, err := io.WriteString(conn, spec.Send); err != nil {
			return a.failed(err)
		}
	}
	if spec.Expect == nil {
		return nil
	}
	return a.await(conn)
}

// manyLooks is after how many pieces of an answer the pattern is no longer
// tried at each one: for an answer that comes byte by byte that would cost the
// square of its length.
const manyLooks = 64

// await reads until the pattern matches what came so far. When no more will
// come, it looks once more at all of it.
func (a *attempt) await(stream io.Reader) *failure {
	a.phase = check.PhaseBody
	var (
		expect = a.shared.tcp.Expect
		text   []byte
		err    error
		buffer = make([]byte, 4096)
	)
	for looks, next := 0, 0; err == nil && len(text) < check.ExpectLimit; {
		var n int
		n, err = stream.Read(buffer[:min(len(buffer), check.ExpectLimit-len(text))])
		text = append(text, buffer[:n]...)
		if n == 0 || len(text) < next {
			continue
		}
		if expect.Match(text) {
			return nil
		}
		if looks++; looks > manyLooks {
			next = len(text) + len(text)/8
		}
	}
	if len(text) > 0 && expect.Match(text) {
		return nil
	}
	return a.unmatched(err, text)
}

// unmatched says why the pattern was not found in what came.
func (a *attempt) unmatched(err error, text []byte) *failure {
	wanted := "expected a match of " + a.quote(a.shared.tcp.Expect.String())
	came := "nothing"
	if len(text) > 0 {
		came = a.quote(string(text))
	}
	switch {
	case err == nil:
		return fail(a.phase, check.CauseTooLarge, "%s, not found in the first %d bytes: %s", wanted, check.ExpectLimit, came)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fail(check.PhaseAssert, check.CauseMismatch, "%s, got %s before the server closed", wanted, came)
	}
	f := a.failed(err)
	switch f.cause {
	case check.CauseTimeout:
		f.detail = fmt.Sprintf("%s, got %s from port %d %s", wanted, came, a.remote.Port(), a.within())
	case check.CauseReset:
		f.detail = wanted + ", got " + came + " and a reset"
	}
	return f
}
