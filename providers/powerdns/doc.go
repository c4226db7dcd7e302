// Package powerdns edits a zone of the PowerDNS Authoritative Server through its
// HTTP API (4.3 and later), net/http and no library between.
//
// A list is the whole zone in one answer, read as a stream. It is believed when it
// is of the right zone, ends where JSON ends, and has the SOA whose serial it names
// in its head. The API can be asked for one record set too, but that answer has no
// disabled records (PowerDNS/pdns#11473), so it is never asked for.
//
// A paused value is a record with PowerDNS' own flag: disabled. It stays in its set
// and the server does not answer it. What sidestep disabled it names in a comment of
// the record set, by the account "sidestep", each with the time of its pause
// ("v=sidestep1 paused=192.0.2.1@2026-11-30T13:05:01.250Z"; without one in marks of
// older versions). A disabled value that no such comment names was taken out by a
// person, and is held. So is one whose mark was seen in two lists beside a value that
// is live or gone: flag and mark are written together, so somebody ended that pause,
// and who disables the value again leaves the old mark as it is. What a process saw of
// this is forgotten when it ends; then, and where nobody listed the zone twice in
// between, such a second pause by hand looks like ours. The next write to the set, and
// a release, take marks away that are used up. Other comments are put back as they
// were. PowerDNS keeps one record in a CNAME set and no more, disabled or not: where a
// CNAME is swapped, the old target becomes a readable TXT copy below the name.
//
// A write is one PATCH that replaces the whole record set by every member just read,
// with the flags set anew, and the copies' set with it where both change: PowerDNS
// makes all of it in one transaction. So no order of calls and no late call can
// empty a set. But PowerDNS compares nothing (it ignores If-Match): what somebody
// else writes between our last read and our PATCH is overwritten; pkg/reconcile
// puts back what a late PATCH of ours took of what a list had shown. Each write
// therefore reads the zone once more, is refused where the set is no longer what the
// caller saw, and is sent at once. Where that gap is too wide, the zone is given to
// provider rfc2136 and PowerDNS' DNSUPDATE, which compares; but never to both, for a
// DNSUPDATE deletes the disabled records of the sets that it touches.
//
// Records of other types (LUA, ALIAS, MX, …) are never written. A zone whose kind
// says that PowerDNS copies it from elsewhere is listed and never written. The
// package deletes no answer, sends no PATCH twice, and does not know where the
// server answers queries: that is for verify.servers of the zone.
//
// The four interfaces of libdns are implemented too, for other programs; sidestep's
// own writes never go through them. powerdnstest runs the real server for tests. The
// contract is in pkg/provider, the road to the API is httpapi below it, and the only
// caller of the writes is pkg/reconcile.
package powerdns
