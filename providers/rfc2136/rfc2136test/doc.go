// Package rfc2136test runs the name servers that the rfc2136 adapter is tested
// against: BIND, Knot and PowerDNS, the real programs, each with one zone and one TSIG
// key; and unbound, a resolver before one of them. How they are run, and what becomes
// of a test where they are missing, is realserver's, in pkg/provider/providertest.
//
// Debian has them in bind9, bind9-dnsutils, knot, unbound, pdns-server, pdns-backend-sqlite3
// and sqlite3.
package rfc2136test
