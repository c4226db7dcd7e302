// Package control is the protocol between the command line and the daemon:
// requests and answers in JSON over HTTP/1.1, on a unix socket and over TCP. The
// shapes of the answers are those that the commands print with --json; fields
// may be added, and those that are here keep their names.
//
// The server knows no engine, no reconciler and no provider: it checks who
// asks, decodes, hands the request to a Backend, and encodes what comes back.
// Who asked is read from the socket's peer credentials, or is the name of the token
// that was shown, and never what the request says. pkg/daemon is the Backend; pkg/cli
// is the client.
//
// Over TCP each request needs a token, of which only a hash is kept; plain HTTP is for
// loopback only. Against pages of others in a browser a request is refused whose Host
// is not this server's (a name that was rebound), or whose Origin is not that Host.
// There are no cookies, so that a browser adds nothing by itself. Many wrong tokens
// from one address lock it out for a minute, with a right one too: the socket is the
// way in then. Other rooms mount handlers beside the protocol (Mount).
//
// Connections are bounded in number, and in the time that a request takes to
// come and an answer to be taken, so that nobody can use up what the probes need; and
// those that ask nothing give way to the next one, so that nobody can shut out the
// others by being silent.
package control
