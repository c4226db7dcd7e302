// Package ovhtest is a fake of the part of OVHcloud's API that
// github.com/libdns/ovh uses, for tests: records by id, signed requests, and a
// zone that answers with what it was at its last refresh.
//
// It refuses what the vendor's documentation says is refused: a signature that
// is wrong, a TTL of 1 to 59 seconds, unbalanced quotes in a TXT. A TXT without
// quotes is kept in quotes, as the console shows it. Not documented, and so a
// guess: an empty subDomain in a query filters nothing.
package ovhtest
