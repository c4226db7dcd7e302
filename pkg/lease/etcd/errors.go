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
	Message string // in at most 120 bytes, where addresses are short: what was asked, of which etcd, what came instead, and the next command
	Advice  string // the same with the client's own words, all addresses, and what to do
	Err     error
}

func (e *Error) Error() string { return e.Message }

// Unwrap is what the client said.
func (e *Error) Unwrap() error { return e.Err }

// Explain makes an Error of what the client said; nil of nil. It is the one place
// where that becomes words: the client's own go to the log of level debug.
func (w *Way) Explain(what string, err error) error {
	if err == nil {
		return nil
	}
	problem, advice := w.words(err)
	out := &Error{
		Message: fmt.Sprintf("%s: etcd at %s %s; sidestep validate --online", what, w.first(), problem),
		Advice:  what + ": " + advice, Err: err,
	}
	w.settings.Logger.Debug("what etcd answered, or the way to it", "error", out.Advice)
	return out
}

// words say what is wrong with an etcd, in few words that go on from its name, and in
// full.
func (w *Way) words(err error) (problem, advice string) {
	at, told := w.at(), tell(err)
	switch {
	case errors.Is(err, rpctypes.ErrAuthFailed):
		return "refused user or password", fmt.Sprintf("etcd at %s refused the user %q or its password; check etcd.user and etcd.password: %v", at, w.settings.User, err)
	case errors.Is(err, rpctypes.ErrUserEmpty), errors.Is(err, rpctypes.ErrUserNotFound):
		return "asks for a user it knows", fmt.Sprintf("etcd at %s asks for a user, and %s; set etcd.user and etcd.password: %v", at, w.signedIn(), err)
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		return "denies keys of etcd.prefix", fmt.Sprintf("etcd at %s does not let %s read and write below %s/; etcdctl role grant-permission ROLE readwrite --prefix=true %s/: %v",
			at, w.user(), w.settings.Prefix, w.settings.Prefix, err)
	case w.tls():
		if problem, advice = w.tlsWords(told); problem != "" {
			return problem, advice
		}
	}
	switch {
	case strings.Contains(told, "tls:"), strings.Contains(told, "x509:"), strings.Contains(told, "authentication handshake failed"):
		return "failed the TLS handshake", fmt.Sprintf("TLS with etcd at %s failed: %s; check etcd.tls (ca, cert, key) and the names in the members' certificates", at, told)
	case errors.Is(err, context.DeadlineExceeded), silent(told), status.Code(err) == codes.DeadlineExceeded:
		return fmt.Sprintf("gave no answer within %v", answerWithin), fmt.Sprintf("no answer from etcd at %s within %v; does a majority of its members run, and can this host reach them?", at, answerWithin)
	case strings.Contains(told, "error reading server preface") && cut(told):
		return "ended the connection", fmt.Sprintf("what answers at %s ends the connection as soon as it is made, as a proxy without a member behind it does, or speaks TLS where etcd.endpoints says http: %s; check the addresses and ports", at, told)
	case strings.Contains(told, "error reading server preface"), strings.Contains(told, "unexpected HTTP status code"),
		status.Code(err) == codes.Unimplemented:
		return "does not speak etcd's v3 API", fmt.Sprintf("what answers at %s is not etcd's v3 API, which etcd 2 has not, or speaks TLS where etcd.endpoints says http: %s; check the addresses and ports", at, told)
	}
	return plain(told), fmt.Sprintf("etcd at %s: %s; does a majority of its members run, and can this host reach them?", at, told)
}

// tlsWords say what is wrong where TLS is spoken; empty for nothing of TLS.
func (w *Way) tlsWords(told string) (problem, advice string) {
	at := w.at()
	switch {
	case strings.Contains(told, "first record does not look like"), strings.HasSuffix(told, "handshake failed: EOF"):
		return "does not speak TLS", fmt.Sprintf("etcd at %s does not speak TLS: %s; write http:// in etcd.endpoints if that is meant", at, told)
	case strings.Contains(told, "tls: certificate required"):
		return "asks for a certificate", fmt.Sprintf("etcd at %s asks this node for a certificate: %s; set etcd.tls.cert and etcd.tls.key", at, told)
	case strings.Contains(told, "remote error: tls:") && strings.Contains(told, "certificate"):
		return "refused etcd.tls.cert", fmt.Sprintf("etcd at %s does not accept the certificate of this node: %s; let an authority that etcd trusts sign etcd.tls.cert", at, told)
	case cut(told): // etcd may have said why, and the connection may have ended before that was read
		return "ended the connection", fmt.Sprintf("etcd at %s ended the connection: %s; does it run, and does it ask for another certificate of this node (etcd.tls.cert)?", at, told)
	}
	return "", ""
}

// plain is what the gRPC library or etcd says, in words of ours.
func plain(told string) string {
	for _, p := range []struct{ part, problem string }{
		{"connection refused", "refuses the connection"},
		{"no such host", "has a name without address"},
		{"no route to host", "cannot be reached"},
		{"network is unreachable", "cannot be reached"},
		{"i/o timeout", "cannot be reached"},
		{"request timed out", "has no majority of members"},
		{"no leader", "has no leader"},
		{"leader changed", "has no leader"},
		{"space exceeded", "has no space left"},
		{"too many requests", "has too much to do"},
		{"connection closed", "ended the connection"},
		{"transport is closing", "ended the connection"},
		{"context canceled", "was not asked to the end"},
	} {
		if strings.Contains(told, p.part) {
			return p.problem
		}
	}
	if cut(told) {
		return "ended the connection"
	}
	return "answered with an error"
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
