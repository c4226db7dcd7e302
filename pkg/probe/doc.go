// Package probe does what a check.Spec says, once, and reports the fact.
//
// Prober.Probe is a Func: it connects to one address, asks, reads, and gives
// back a check.Result with the phase and the cause of what went wrong. HTTP/1.1,
// HTTP/2 over TLS, TCP and ICMP are built; a Spec of another kind is Unknown.
//
// # What a probe is
//
// A fresh connection to the address under test, in its own family: no resolver,
// no second address, no fallback, no proxy from the environment, no connection
// kept, no redirect followed. Host header, SNI and certificate name
// come from the Spec. One deadline covers connect, TLS, send, headers and
// body. The connection ends by a reset (SO_LINGER 0), so that a prober with
// thousands of targets leaves no port in TIME_WAIT.
//
// # HTTP/2
//
// Over TLS both h2 and http/1.1 are offered (ALPN), unless check.HTTP.HTTP1 is
// set, and what the server picks is spoken. For HTTP/2 this package uses the
// frame layer of golang.org/x/net/http2 and not its Transport: one probe is one
// stream on one connection, so everything happens in order in the probe's own
// calls, no goroutine outlives it, and each thing a server can do wrong gets a
// word of its own. What a client has to send comes with the request (preface,
// settings, a window as large as the body may be) or is answered at once
// (SETTINGS, PING). Redirects, interim responses, statuses and bodies are judged
// as for HTTP/1.1.
//
// # TLS
//
// From version 1.2 on, with the system's authorities or those of the check. The
// certificate is always verified: against server_name where that is given, else
// the host of the URL, else, for TCP, the target as the caller has it, a name or
// an address. A client certificate is shown whenever the server asks for one. A
// certificate, or one that vouches for it, that is not valid at this time and
// would be at another sets check.Result.Clock. In TLS 1.3 a server that refuses a
// client says so only after the handshake, so a TCP check sees it only when it
// expects an answer.
//
// # TCP
//
// Connect, then as far as asked: TLS, send, wait. The pattern is tried on all
// that came so far, at each piece that comes and, after 64 pieces, less often;
// the first match ends the probe. "$" in a pattern therefore means the end of
// what came so far.
//
// A probe over ICMP has no connection: pkg/probe/ping sends its echo requests
// over a shared socket and says when, and this package judges what came. It
// passes when so many replies came that no more than max_loss percent of count
// are lost, and never without one. Too few replies are assert/loss, none
// connect/timeout, and none but an ICMP error connect/unreachable.
//
// # A name as target
//
// A target that is a name is resolved at every probe (pkg/resolve says how), and
// each of its addresses, 16 at most and the families by turns, is probed as
// above, side by side. One deadline covers it all; the question may take half of
// it. One pass is a pass, all failed is a failure, and anything that was not
// seen, be it a type that the resolver did not answer, an address too many or
// one of a family that this machine cannot reach, keeps a failure unknown. All
// addresses are waited for, so that a name of which a part is dead shows; the
// time that counts is that of the first pass. A check with a source is about the
// family of its source alone.
//
// No address, as NXDOMAIN or without a record of either type, is the name's own
// fault: resolve/unreachable. A name that is steered, or that resolves through
// one (Options.Steered), is unknown: its probe would follow our own writes.
// Loopback, unspecified, multicast, broadcast, link-local and mapped addresses are
// not dialled, as they lead to this machine or its neighbours, and are unknown:
// filtering resolvers answer so, which says nothing of the target. Loopback is
// dialled for names under localhost, and in a lab (Options.Loopback).
//
// # What is bounded
//
// Headers, all interim responses together: 64 KiB. Interim responses: 5. The body is
// read only when a pattern or a JSON field is asked for, up to check.HTTP.BodyLimit
// after decompression, and up to eight times that and 64 KiB on the wire (twice as
// much for HTTP/2, whose frames count). Of a TCP answer check.ExpectLimit bytes.
// SETTINGS and PING frames: 100. Details hold at most check.MaxDetail bytes of
// printable ASCII.
//
// # Which phase and cause
//
// These rules are this package's own choice where no standard decides:
//
//   - A pattern not found in a complete body is assert/mismatch; not found in
//     the first BodyLimit bytes of a longer one is body/too-large, because the
//     remedy is another (raise body_limit).
//   - 401, 403 and 407, when not accepted, are assert/auth; other statuses
//     assert/status.
//   - A certificate that does not verify is tls/certificate. An alert of the
//     server and an answer that is no TLS are tls/mismatch, also when the alert
//     comes with the first read, as TLS 1.3 sends those about client
//     certificates. A connection closed in the handshake is tls/reset.
//   - An answer that is no HTTP/1.x is headers/mismatch; a connection that ends
//     before the headers do, by FIN or RST, is headers/reset.
//   - RST_STREAM and GOAWAY are headers/reset or body/reset, whichever was read;
//     frames against RFC 9113 are headers/mismatch or body/mismatch, and so is a
//     body of another length than its content-length.
//   - A TCP answer without a match is body/timeout when nothing more came within
//     the timeout, assert/mismatch when the server closed, and body/too-large
//     after check.ExpectLimit bytes.
//   - A body that cannot be decoded (an encoding other than gzip, or broken
//     gzip) is body/mismatch, and matters only when a body is asked for.
//
// # Whose fault
//
// Unknown, with cause local and the remedy in the detail, is everything that
// says nothing about the target: no descriptor, no port, no memory, no source
// address, no permission, no CA certificates, a probe that was cancelled or
// panicked, and a connect error nobody has named. "Unreachable" is told apart
// by asking the routing table (connecting a UDP socket sends nothing): when it
// has no way either, the missing route is ours; else the network or the
// neighbour said it of the target, and the probe failed.
//
// What comes from a server is escaped and cut; the values of request headers and
// what a TCP check sends are secrets and are taken out of it first, should a
// server echo them. The key of a client certificate is given to crypto/tls alone.
//
// The package never decides whether a target is up, never logs a result, keeps
// no goroutine for longer than a tenth of a second after a probe. Results go to
// the daemon's inbox, and from there to pkg/health.
package probe
