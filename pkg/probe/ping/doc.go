// Package ping asks addresses for echo replies (ICMP, ICMPv6) over one shared
// socket, and counts those that came.
//
// A Pinger has a socket for each family and source address, whatever the number
// of addresses asked. It is open, with one goroutine that reads it, while
// requests are under way and for a tenth of a second after: there is nothing to
// stop, and a change of permissions is seen soon. That short while is there
// because opening costs as much as two requests, and on a fast network most
// replies are back before the next address is due.
//
// # Whose reply it is
//
// A reply counts when its sender, identifier, sequence number and payload are
// those of one request that is under way. The payload holds 8 random bytes, new
// for each request, so that neither a second pinger with the same identifier
// nor somebody who guesses can speak for an address that is silent. A request
// is answered once: what is doubled, late or forged is dropped. Sequence
// numbers go round, and one is never under way twice to the same address.
//
// An ICMP error (unreachable, too big, time exceeded, parameter problem) counts
// when the request it quotes is one that is under way: address, identifier,
// sequence number, and the random bytes where the quote is long enough to hold
// them. Redirects and source quench are not read.
//
// # When requests leave
//
// The first leaves at once. The next leaves as soon as a reply to an earlier
// one came, and else at its place in a row that divides the time up to the
// deadline evenly, so that the last has the same share of it to be answered as
// all others. An ICMP error does not hurry the next request: a network that is
// mending itself gets its time. A reply counts up to the deadline, whichever
// request it answers. The end comes before the deadline when enough replies
// are there, or when errors came for so many requests that enough can no
// longer come.
//
// # Which socket
//
// A datagram socket (the kernel gives the identifier and shows our replies
// only) is tried first; it needs the group of this process in the sysctl
// net.ipv4.ping_group_range, which holds for IPv6 as well. Where it is refused
// a raw socket is tried, which needs CAP_NET_RAW. Both see the same, on
// different ways: a raw socket gets ICMP errors as packets; a datagram socket
// gets them from its error queue (IP_RECVERR), and a send or read may be told
// the error of another request, which is then tried again. What the kernel does
// not deliver is seen on neither: errors that a firewall drops, and those whose
// quote a translator of addresses did not translate back.
//
// What is in the receive buffer at the deadline counts, also when this process
// had no time to read it. Should the buffer have overflowed, which takes
// hundreds of replies at one instant, the rest is lost like on the way.
//
// A full send buffer, which neighbours that do not answer can cause, is waited
// for until the deadline; what could not be sent is never counted as lost.
package ping
