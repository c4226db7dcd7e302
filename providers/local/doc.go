// Package local edits a zone that is a file: an RFC 1035 zone file on this
// host, which some name server reads, or which this package serves itself.
//
// An edit is a change of lines. The file is cut into statements that know what
// they mean and which bytes they are; the statements of the record set, its
// parked copies, the stamp and the SOA's serial are rewritten, and every other
// byte stays: comments, order, relative names, parentheses. A paused value's
// copy takes the place of its line, comment included, and hands it back on
// resume. A line that took its owner or TTL from one that goes is given them.
// Before it becomes the file, the result is read back, and must be, record for
// record, what was meant.
//
// A write holds a lock on FILE.sidestep.lock over everything from reading the
// file to replacing it, so that among programs that honour the lock it compares
// and swaps as a name server would: stamps, serial, the whole set and the
// parked copies have to be what the call rests on. The gate is asked before the
// lock is waited for, as a remote provider's call is gated before it is sent;
// the call's deadline bounds the rest and is checked last. The new file is
// written beside the old one, made durable and renamed over it, with the same
// mode and owner; a killed process leaves the old file or the new one. The file
// of a symbolic link is edited where it lies. An editor in a person's hand
// honours no lock: what it changed up to the last look, right before the
// rename, wins; and a file that is being written at this moment is read only
// once it holds still.
//
// What is refused, because a guess could cost a record: $INCLUDE and $GENERATE,
// classes other than IN, a record whose TTL nothing defines, text that servers
// read in different ways, a file without its SOA, writes to a file that holds
// signatures. Access lists and extended attributes of the file are not carried
// over. Where a file without $TTL gives the records of one set several TTLs,
// the next record inherits the one that was written, as RFC 1035 has it; BIND
// hands on the one that it settles the set on. A file that does not parse is an error with its line, never an empty
// zone.
//
// Served, the zone is answered over UDP and TCP by pkg/authority: our own write
// at once, another's within a second, and a file that has become unreadable not
// at all: the last good zone stays.
//
// The data of records is parsed by github.com/miekg/dns, the statement layer is
// this package's own, because no library at hand keeps the bytes.
//
// The four interfaces of libdns are implemented too, for other programs that
// share the file; they obey libdns's contract, in which there is neither stamp
// nor pause, and sidestep's own writes never go through them.
//
// The contract is in pkg/provider; its only caller is pkg/reconcile.
package local
