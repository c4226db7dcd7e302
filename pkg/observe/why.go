package observe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"sidestep/pkg/check"
)

// maxText is how many bytes of anything that a server sent are shown.
const maxText = check.MaxDetail

// clean makes text fit for a terminal and a line: printable ASCII and at most
// maxText bytes, with a mark where it was cut.
func clean(text string) string {
	var out strings.Builder
	for _, r := range text {
		if ' ' <= r && r <= '~' {
			out.WriteRune(r)
			continue
		}
		escaped := strconv.QuoteRuneToASCII(r)
		out.WriteString(escaped[1 : len(escaped)-1])
	}
	if out.Len() > maxText {
		return out.String()[:maxText-3] + "..."
	}
	return out.String()
}

// fault is why a request got no answer.
type fault struct {
	phase  check.Phase
	cause  check.Cause
	detail string
}

func (f *fault) Error() string { return string(f.phase) + "/" + string(f.cause) + ": " + f.detail }

// faultOf words an error of a phase.
func faultOf(phase check.Phase, err error) *fault {
	if known, ok := errors.AsType[*fault](err); ok {
		return known
	}
	cause, detail := causeOf(phase, err)
	return &fault{phase, cause, clean(detail)}
}

func causeOf(phase check.Phase, err error) (check.Cause, string) {
	switch {
	case errors.Is(err, context.Canceled):
		return check.CauseLocal, "stopped before an answer came"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return check.CauseTimeout, "no answer in time"
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return causeOfCall(errno), errno.Error()
	}
	if cause, detail := causeOfTLS(err); cause != "" {
		return cause, detail
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return check.CauseReset, "the server closed the connection before its answer was complete"
	case phase == check.PhaseConnect:
		return check.CauseLocal, err.Error()
	}
	return check.CauseMismatch, "not an answer of the expected protocol: " + err.Error()
}

func causeOfCall(errno syscall.Errno) check.Cause {
	switch errno {
	case syscall.ECONNREFUSED:
		return check.CauseRefused
	case syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED:
		return check.CauseReset
	case syscall.ETIMEDOUT:
		return check.CauseTimeout
	case syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.EHOSTDOWN:
		return check.CauseUnreachable
	}
	return check.CauseLocal
}

// causeOfTLS words what the TLS layer complains of; no cause when it does not.
func causeOfTLS(err error) (check.Cause, string) {
	if roots, ok := errors.AsType[x509.SystemRootsError](err); ok {
		return check.CauseLocal, "no CA certificates on this machine: " + roots.Error()
	}
	if refused, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		host, isHost := errors.AsType[x509.HostnameError](refused.Err)
		if !isHost {
			return check.CauseCertificate, strings.TrimPrefix(refused.Err.Error(), "x509: ")
		}
		names := append([]string{}, host.Certificate.DNSNames...)
		for _, ip := range host.Certificate.IPAddresses {
			names = append(names, ip.String())
		}
		return check.CauseCertificate, fmt.Sprintf("expected a certificate for %s, got one for %s", host.Host, strings.Join(names, ", "))
	}
	if garbage, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return check.CauseMismatch, fmt.Sprintf("the server does not speak TLS on this port: expected a handshake, got %q", garbage.RecordHeader[:])
	}
	if alert, ok := errors.AsType[tls.AlertError](err); ok {
		return check.CauseMismatch, "the server refused the handshake: " + strings.TrimPrefix(alert.Error(), "tls: ")
	}
	return "", ""
}
