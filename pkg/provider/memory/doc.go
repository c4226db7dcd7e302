// Package memory is a DNS zone in memory with an adapter of each class of
// provider in front of it: the reference implementation of the contract in
// pkg/provider, and the misbehaving world in which pkg/reconcile and the
// simulation are tried.
//
// A Zone is the truth. It has one of six classes, each with the write
// operations of one kind of real provider and no others, so that an adapter
// here can do no more than one there:
//
//	Status         a status flag, weight and line for each record, no transaction (DNSPod)
//	Rename         an atomic batch by record id, the stamp deleted and posted anew (Cloudflare)
//	Exact          an atomic batch that deletes only what matches exactly (Route 53)
//	Prerequisites  an update with prerequisites, the zone's serial among them (RFC 2136)
//	Whole          whole sets are replaced, unconditionally (PowerDNS over HTTP)
//	Append         append and delete, with copies that stay for ever (any libdns provider)
//
// A write is built from the caller's list and takes effect on whatever the zone
// is by then: at once, or, when a fault makes it late, whenever the test
// delivers it. The conditions of a fenced class are compared at that moment,
// and the unfenced classes apply blindly, as their providers do.
//
// Two classes cannot keep a value and take it out in one request. There a
// TakeAway makes the copy, and the same TakeAway asked for again, once a list
// shows the copy, takes the value out: Append for every pause, Status for a
// swap of a single-valued type.
//
// Nothing here reads a clock or draws a random number: faults are scripted,
// late calls are delivered by hand, and the time is what Options.Now says. The
// package never opens a file or a socket.
//
// Check reads a zone's history and says whether any effect of an adapter
// emptied a set, lost a value or its attributes, or touched what it had no
// business with. The road goes on in pkg/reconcile, the one caller of writes.
package memory
