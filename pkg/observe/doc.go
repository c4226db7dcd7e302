// Package observe looks at a name from the outside, as the clients of a zone
// do, and reports what it saw: facts with their source and time, no verdicts.
//
// Today it has one view, Ask: what one authoritative server answers for one
// name and type, asked directly, past every cache. This is how a write is
// verified. Exchange, on which it rests, carries one question to one server and
// is there for whoever reads the answer in another way.
//
// It never changes anything, never uses the resolver of the system, and keeps
// nothing between two calls; whatever it starts has ended when it returns.
//
// The road goes on to the clocks of a switch on one timeline: the answer at
// every authoritative server, the answer of a resolver with the time that its
// cache still holds it, a connection that was kept open, a new connection, and
// the identity of the backend behind each.
package observe
