// Package rfc2136test runs the name servers that the rfc2136 adapter is tested
// against: BIND and Knot, the real programs, each with one zone and one TSIG
// key on a free high port of 127.0.0.1, in a directory of its own that goes
// with the test.
//
// A machine without the programs skips the test, unless the environment says
// SIDESTEP_TEST_REAL=require. The package never touches a server that it did
// not start, and stops its own by process id.
//
// Debian has them in bind9, bind9-dnsutils and knot.
package rfc2136test
