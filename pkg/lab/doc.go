// Package lab is a small world on loopback, to be broken and mended at run
// time: backends that serve HTTP, and a page to break them from. The demo, the
// drills and many tests live in it.
//
// It never leaves loopback on its own: every address is one that the caller
// gave, and FreeAddrs gives loopback ones. It uses no file and no signal; what
// can be done to it is done by a method or an HTTP request.
//
// The server is net/http, because here it plays the web servers of other
// people; how they are probed is not its business.
//
// The road goes on to a zone of its own (package authority) and to whole
// outages: a site that goes dark, a network that loses packets.
package lab
