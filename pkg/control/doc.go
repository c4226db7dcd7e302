// Package control is the protocol between the command line and the daemon:
// requests and answers in JSON over HTTP/1.1, today on a unix socket. The
// shapes of the answers are those that the commands print with --json; fields
// may be added, and those that are here keep their names.
//
// The server knows no engine, no reconciler and no provider: it checks who
// asks, decodes, hands the request to a Backend, and encodes what comes back.
// Who asked is read from the socket's peer credentials and never from the
// request. pkg/daemon is the Backend; pkg/cli is the client.
//
// Connections are bounded in number, and in the time that a request takes to
// come and an answer to be taken, so that nobody on the socket can use up what
// the probes need.
package control
