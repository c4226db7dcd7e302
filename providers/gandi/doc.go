// Package gandi edits zones of Gandi's LiveDNS through github.com/libdns/gandi
// v1.1.0 and with the reduced promises of pkg/provider/generic, where the road
// goes on.
//
// LiveDNS has whole record sets. The module reads a set and puts it back with
// one value more or less, so that a deletion takes exactly the value that was
// listed; what somebody adds to the same set between its two requests is lost.
// A set has one TTL: a value that is resumed takes its siblings'. LiveDNS takes
// no TTL below 300 seconds: a smaller one is raised to that.
//
// A TXT is listed in quotes and has to be written in quotes, or its words would
// become strings of their own. The module deletes the only TXT of a set when it
// is named without them, and one of several when it is named with them; this
// package names it either way. The module asks for a list in one request and
// follows no page.
//
// A 404 in the module's first request is read as "no such set" when its body is
// one of the API, so that a zone that vanishes between two requests would be
// written a set of one value. ganditest is a fake of what is used.
package gandi
