// Package hetzner edits zones of Hetzner's DNS Console (dns.hetzner.com) through
// github.com/libdns/hetzner v1.0.0 and with the reduced promises of
// pkg/provider/generic, where the road goes on. Zones that were moved to the
// vendor's Cloud Console are not found by this API.
//
// Of the module, the creation of records is used, which sends one request and
// reports what came of it. Its listing and its deletion are not: the listing
// fails as a whole at one record that it cannot parse, and the deletion takes
// the first record of the name and type, whatever its value, so that of two
// addresses it may delete the wrong one. Both are done through the module's
// client instead, which lists records with their ids and deletes by id. A zone
// that the credential does not see makes the module panic, which is told as what
// it is.
//
// The vendor's description of the API says that a list of records without a
// page has them all. hetznertest is a fake of what is used.
package hetzner
