// Package generic makes an adapter of any libdns provider that can list, append
// and delete records: with fewer promises than an adapter of its own, because
// libdns has neither a pause nor a transaction nor a condition, and tells no
// error from another.
//
// A pause takes two calls of TakeAway. The first appends a readable copy of the
// record as a TXT below its name. The second, once a list shows the copy,
// lists anew, sees that every survivor is live, and deletes the live record,
// handing the library the very record that it listed. A resume appends the
// record again, from the newest copy. Copies stay for ever and mean nothing
// while their value is live: so no late call and no list from the past can lose
// a value. Release alone takes the copies of live values away.
//
// What follows from that: a value is never lost, and a name is never left empty
// by one sidestep; two of them, or an operator in the moment between the look
// and the deletion, can empty it until the next round adds again. Single-valued
// types are refused, because without a write in place the name would have no
// answer for a moment. TTLs are not changed. SetRecords is never called: of
// the released modules several lose members of a set in it.
//
// The library is not trusted. Each call runs apart: its panic is an error, and
// one that ignores its deadline is left behind and waited for before the next
// write. (A library that ends the process, or panics in a goroutine of its own,
// cannot be held back.) A list that fails is an error; one that is empty where
// there were records too; the first one that is empty is believed when another,
// the lag later, is so too; one that is shorter than the last is asked for again
// and has to come back the same. A name that can be read as relative and as
// absolute is not written to. A record without a TTL of its own is not paused,
// because it would come back with another. An error without a class is
// Retryable of a list and Ambiguous of a write.
//
// libdns's contract has TXT as plain text. Some modules give and take it in the
// quotes of a zone file: which, is seen from what they list.
//
// The memory adapter's class Append is the reference. The modules that are
// registered by name, each with what is known of it, are in providers/.
package generic
