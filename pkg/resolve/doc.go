// Package resolve asks the resolvers of this machine for the addresses of a
// name, so that what has a name instead of an address can be probed.
//
// Lookup asks for A and AAAA side by side and gives the addresses with the
// names that led to them, or says why there are none: a NoAddressError when the name
// itself has none, any other error when it could not be told.
//
// # Whom it asks, and how
//
// The name servers of resolv.conf(5), the first three, each once, in their
// order, until one gives an answer. The file is read at every Lookup, so a
// change of it holds at once. Names are absolute: its search list and its
// options are left alone. /etc/hosts is not read, nor any other source of
// nsswitch.conf(5), because the users of a name do not see them: what is asked
// is what their resolvers are told. A question goes over UDP, and over TCP when
// the answer is cut or does not come (Exchange of pkg/observe).
//
// Nothing is kept from one Lookup to the next. The resolver has a cache that
// honours each TTL, and a second one here could only be wrong: it would hold a
// failure after its end, or an address after it was replaced.
//
// # Whose fault
//
// NXDOMAIN, and no record of either type, are what every user of the name is
// told: the name's own fault. SERVFAIL, REFUSED, a timeout, no resolver and one
// that cannot be reached say nothing of the name. The same holds for an empty
// answer of a server that neither recurses nor is the authority (RFC 1035
// section 4.1.1, RA and AA): it was not asked about its own zone and has not
// looked elsewhere. When one type was answered and the other was not, the
// answer is Partial: what came can be probed, but no failure can be built on it.
//
// The package holds no state and starts nothing that outlives a call.
package resolve
