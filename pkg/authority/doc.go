// Package authority is a small authoritative name server that lives inside the
// program: it answers for one zone over UDP and TCP, and changes that zone
// between two questions without a gap.
//
// A Zone is a value: parsed, checked and sorted once, never changed. A Server
// holds one zone behind an atomic pointer; SetZone swaps it whole, so that
// every answer, and every transfer from its first record to its last, is told
// from one zone and never from half of two.
//
// What it answers: positive answers, NODATA and NXDOMAIN apart with the SOA
// (RFC 2308), empty non-terminals (RFC 8020), wildcards (RFC 4592), CNAMEs
// followed inside the zone, referrals with glue, EDNS(0) with a UDP size of
// 1232 and TC beyond it, ANY with one record set (RFC 8482), several questions
// on one TCP connection (RFC 7766), whole-zone transfers over TCP (RFC 5936)
// to the prefixes that are allowed to. Answers are minimal: nothing is added
// that was not asked for, save the glue of a referral. The records of a set
// come in the order of their data on the wire, always the same; clients that
// want to spread their load shuffle for themselves.
//
// What it never does: recursion, dynamic updates, notifications, TSIG, rate
// limiting, DNSSEC. Zones are served unsigned, and a zone that has signatures
// or denial records in it is refused, because editing it would turn it bogus.
// DNAME and $INCLUDE are refused as well. It never reads or writes a file.
//
// The packets are read and written with github.com/miekg/dns, which the whole
// Go world of name servers leans on; replies leave from the address that was
// asked, which is the part of a UDP server that is easy to get wrong.
//
// The road goes on to the local provider, which edits a zone file and hands the
// result to SetZone, and to the lab, which runs a zone for demo and drills.
package authority
