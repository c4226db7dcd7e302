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
// of a symbolic link is edited where it lies.
//
// Editors, generators and copying programs honour no lock. What they changed up
// to the last look, right before the rename, wins. A file that somebody has open
// for writing may be half of what it is about to be, and to replace it would
// send the other half into a file without a name; so the kernel is asked, by a
// read lease (fcntl(2), F_SETLEASE), whenever the file is read and again over
// the rename. While it is open for writing a list is a retryable error, a write
// a conflict, and the last good zone stays served. A writer that opens the file
// in the microseconds in which it is being renamed over is as lost as with any
// program that replaces files: open(2) has found the old one by then.
//
// Leases exist on Linux, for the owner of the file or with CAP_LEASE, and say
// nothing of other hosts. On NFS, SMB, FUSE and the like, for another user's
// file, and on other systems, a file that this package did not write is instead
// believed only when it has not changed for two seconds; a writer that pauses
// for longer than that in the middle is not recognised there. Let such writers
// make a new file and rename it.
//
// A file that was closed is taken for what its writer meant, even if records
// are gone and the serial is the old one. That could be a generator that died,
// or one that opens the file anew for each part; but also a person who removed
// a line and forgot the serial, whose edit must count as much. Nothing is lost
// by an edit in between, because the next part is appended to the edited file.
//
// What is refused, because a guess could cost a record: $INCLUDE and $GENERATE,
// classes other than IN, a record whose TTL nothing defines, text that servers
// read in different ways, a file without its SOA, writes to a file that holds
// signatures. Access lists and extended attributes of the file are not carried
// over. Where a file without $TTL gives the records of one set several TTLs,
// the next record inherits the one that was written, as RFC 1035 has it; BIND
// hands on the one that it settles the set on. A file that does not parse is an
// error with its line, never an empty zone.
//
// Served, the zone is answered over UDP and TCP by pkg/authority: our own write
// at once, another's within a second of its being believed, and a file that has
// become unreadable not at all: the last good zone stays.
//
// The data of records is parsed by github.com/miekg/dns, the statement layer is
// this package's own, because no library at hand keeps the bytes.
//
// A write reads the file, and reads back what it is about to write, so it costs as
// much as the zone is large: some 40 ms of a processor for 4,000 records, and the
// disk's own time three times over. What was read for a list, or written, is not
// read again while somebody works with it.
//
// The four interfaces of libdns are implemented too, for other programs that
// share the file; they obey libdns's contract, in which there is neither stamp
// nor pause, and sidestep's own writes never go through them.
//
// The contract is in pkg/provider; its only caller is pkg/reconcile.
package local
