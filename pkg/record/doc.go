// Package record is the vocabulary of a DNS zone: names, types, values and
// the sets that they form.
//
// Everything here is canonical once it was parsed: names are lower-case
// A-labels with the final dot (RFC 5890, RFC 4343), addresses are spelled as
// net/netip spells them, host names inside values are absolute, TXT values are
// the joined bytes and never a presentation form (RFC 1035 section 3.3.14).
// Two spellings of one thing therefore compare equal with ==, which is what
// keeps a plan empty when nothing has to change.
//
// The package imports the standard library and golang.org/x/net/idna and
// nothing else, and never reads a clock, a file or a socket.
//
// The road goes on in pkg/check (what is probed) and pkg/steer (what a name
// should answer with).
package record
