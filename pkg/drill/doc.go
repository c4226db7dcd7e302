// Package drill rehearses a failover, and measures apart what a changed answer
// moves and what it does not: caches follow after a TTL, new connections follow the
// cache, and an open connection follows nobody.
//
// # A name of the zone
//
// Run asks the daemon to drain what a record set leads with, as an operator would,
// and watches with package observe: what was written, each name server, the
// resolver, new connections, one that is kept. It decides nothing about the zone:
// the daemon does, with its guards, and Run takes back what it set.
//
// What it never does: begin where the rest would not carry the name; close a
// connection that carries a request; touch an override that is not its own; end
// with its drain in force while the daemon answers. A rehearsal that dies leaves an
// override with an end. Its own is known by the reason, which has a random part.
//
// A clock counts as moved from when it showed the new state and went on to; one
// that falls back counts anew. The way is at its end when all have moved in two
// looks in a row. What kept sidestep from writing meanwhile, as a freeze, is told at
// once and apart (Wait): it says nothing of how fast a failback is.
//
// Where a gateway hides the addresses, the identity of the backend
// tells, which has to differ from backend to backend.
//
// # On loopback
//
// Local plays the reference experiment with a name server, a caching resolver and
// two web servers of package lab. It asserts the order of events and never a time:
// what has to come first caused what comes after it. Moments that last a TTL can be
// missed by a machine that stands still; then it begins anew.
package drill
