// Package rfc2136 edits a zone on any name server that speaks the protocol of
// RFC 2136 (dynamic update) and RFC 5936 (zone transfer), signed with TSIG (RFC
// 8945): BIND, Knot, PowerDNS with DNSUPDATE, Windows, and many others.
//
// It lists by AXFR over TCP and believes a transfer only when it begins and
// ends with the same SOA and every signature in it is good. It writes one
// UPDATE over TCP, whose prerequisites say what the list said: the stamp, the
// whole record set, the whole set of parked copies, and the SOA. The server
// compares them and applies the update in one step, so that a write from a
// list that is no longer true is refused whole. The SOA is needed because
// prerequisites do not compare TTLs (RFC 2136 section 2.4): without it a TTL
// that was changed by hand would be lost. It is left out where the caller says
// that the zone's serial never holds still.
//
// There is no paused state in the DNS: a paused value is a readable TXT copy
// below the name, written in the same update that takes the record out.
//
// The signature's fudge is small, ten seconds, because it is what bounds a
// late update: the server refuses an older message with BADTIME. A clock that
// is wrong by more than that is found by the first list.
//
// Where a server has views, the key chooses among them, and nothing in the protocol
// names a view: the SOA of two may be the same, and a serial that went back may be a
// restored zone. So a new key that leads to another view is taken up like any other
// by a reload. Give a zone a key of another view only where that one is meant, and
// restart sidestep then.
//
// PowerDNS tells a request that it cannot verify from one that it does not allow in
// its log only: a wrong key or clock is an error of class Permanent there, and the
// hint names all that it can be. Its DNSUPDATE deletes the records that were disabled
// through its HTTP API, so that a zone is edited in one of the two ways and never
// in both.
//
// The package reads rdata as bytes and not through a library's presentation
// form, so that a TXT record is what it is on the wire, a record that nobody
// can parse cannot fail the list, and a prerequisite repeats exactly what the
// server sent. It never deletes anything that it has not put elsewhere in the
// same message, never sends an update twice, and touches no name beside the
// record set, its parked copies and the stamp.
//
// It is no provider.Follower: the server chooses the serial that an update leads
// to and its answer does not tell it, and without the serial the next update could
// not see a TTL that was changed by hand. Each write is followed by a transfer; one
// switch is one write, so that it costs no more than elsewhere.
//
// The four interfaces of libdns are implemented too, for other programs; they
// obey libdns's contract, in which there is neither stamp nor pause, and
// sidestep's own writes never go through them.
//
// rfc2136test starts real servers for tests. The contract is in pkg/provider,
// the only caller of the writes is pkg/reconcile.
package rfc2136
