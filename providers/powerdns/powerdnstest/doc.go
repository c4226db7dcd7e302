// Package powerdnstest runs the real PowerDNS Authoritative Server for the tests of
// the powerdns adapter, behind a proxy that can be told what goes wrong with which
// request, and beside a hand that reads and edits the zone in the server's own
// database and asks it over the DNS.
//
// Nothing here imitates PowerDNS: every answer that the script does not replace is
// the server's. How it is run, and what becomes of a test where it is missing, is
// realserver's, in pkg/provider/providertest; how the proxy is scripted is httpfake's.
// Debian has the server in pdns-server, pdns-backend-sqlite3 and sqlite3.
package powerdnstest
