package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Error is what came of a request to an etcd that did not answer as it should.
type Error struct {
	Message string // in one line what was asked, what came instead, and what to do
	Err     error
}

func (e *Error) Error() string { return e.Message }

// Unwrap is what the client said.
func (e *Error) Unwrap() error { return e.Err }

// Explain makes an Error of what the client said; nil of nil.
func (w *Way) Explain(what string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Message: w.words(what, err).Error(), Err: err}
}

func (w *Way) words(what string, err error) error {
	at := w.at()
	told := tell(err)
	switch {
	case errors.Is(err, rpctypes.ErrAuthFailed):
		return fmt.Errorf("%s: etcd at %s refused the user %q or its password; check etcd.user and etcd.password: %w", what, at, w.settings.User, err)
	case errors.Is(err, rpctypes.ErrUserEmpty), errors.Is(err, rpctypes.ErrUserNotFound):
		return fmt.Errorf("%s: etcd at %s asks for a user, and %s; set etcd.user and etcd.password: %w", what, at, w.signedIn(), err)
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		return fmt.Errorf("%s: etcd at %s does not let %s read and write below %s/; etcdctl role grant-permission ROLE readwrite --prefix=true %s/: %w",
			what, at, w.user(), w.settings.Prefix, w.settings.Prefix, err)
	case w.tls() && (strings.Contains(told, "first record does not look like") || strings.HasSuffix(told, "handshake failed: EOF")):
		return fmt.Errorf("%s: etcd at %s does not speak TLS: %s; write http:// in etcd.endpoints if that is meant", what, at, told)
	case w.tls() && strings.Contains(told, "tls: certificate required"):
		return fmt.Errorf("%s: etcd at %s asks this node for a certificate: %s; set etcd.tls.cert and etcd.tls.key", what, at, told)
	case w.tls() && strings.Contains(told, "remote error: tls:") && strings.Contains(told, "certificate"):
		return fmt.Errorf("%s: etcd at %s does not accept the certificate of this node: %s; let an authority that etcd trusts sign etcd.tls.cert", what, at, told)
	case w.tls() && cut(told): // etcd may have said why, and the connection may have ended before that was read
		return fmt.Errorf("%s: etcd at %s ended the connection: %s; does it run, and does it ask for another certificate of this node (etcd.tls.cert)?", what, at, told)
	case strings.Contains(told, "tls:"), strings.Contains(told, "x509:"), strings.Contains(told, "authentication handshake failed"):
		return fmt.Errorf("%s: TLS with etcd at %s failed: %s; check etcd.tls (ca, cert, key) and the names in the members' certificates", what, at, told)
	case errors.Is(err, context.DeadlineExceeded), silent(told), status.Code(err) == codes.DeadlineExceeded:
		return fmt.Errorf("%s: no answer from etcd at %s within %v; does a majority of its members run, and can this host reach them?", what, at, answerWithin)
	case strings.Contains(told, "error reading server preface") && cut(told):
		return fmt.Errorf("%s: what answers at %s ends the connection as soon as it is made, as a proxy without a member behind it does, or speaks TLS where etcd.endpoints says http: %s; check the addresses and ports", what, at, told)
	case strings.Contains(told, "error reading server preface"), strings.Contains(told, "unexpected HTTP status code"),
		status.Code(err) == codes.Unimplemented:
		return fmt.Errorf("%s: what answers at %s is not etcd's v3 API, which etcd 2 has not, or speaks TLS where etcd.endpoints says http: %s; check the addresses and ports", what, at, told)
	}
	return fmt.Errorf("%s: etcd at %s: %s; does a majority of its members run, and can this host reach them?", what, at, told)
}

// cut reports whether the other end broke the connection off.
func cut(told string) bool {
	return strings.Contains(told, "broken pipe") || strings.Contains(told, "connection reset by peer") || strings.HasSuffix(told, ": EOF")
}

// silent reports whether who took the connection has said nothing before it was
// given up.
func silent(told string) bool {
	return strings.Contains(told, "error reading server preface") &&
		(strings.Contains(told, "use of closed network connection") || strings.Contains(told, "timeout"))
}

// tell is what the gRPC library says of an error, without the frame.
func tell(err error) string {
	text := err.Error()
	if s, ok := status.FromError(err); ok && s.Code() != codes.OK {
		text = s.Message()
	}
	text = strings.TrimPrefix(text, "etcdserver: ")
	if _, inner, found := strings.Cut(text, "connection error: desc = "); found {
		text = strings.Trim(inner, `"`)
		text = strings.TrimPrefix(text, "transport: ")
		text = strings.ReplaceAll(text, `\"`, `"`)
	}
	return strings.ReplaceAll(text, "\n", " ")
}

func (w *Way) user() string {
	if w.settings.User == "" {
		return "this node"
	}
	return fmt.Sprintf("the user %q", w.settings.User)
}

func (w *Way) signedIn() string {
	if w.settings.User == "" {
		return "the config names none"
	}
	return fmt.Sprintf("knows no %q", w.settings.User)
}

func (w *Way) tls() bool { return strings.HasPrefix(w.settings.Endpoints[0], "https://") }
