// Package lab is a small world on loopback, to be broken and mended at run
// time: backends that serve HTTP, plainly or over TLS, a page to break them from,
// a CA in memory for their certificates, and a resolver with a cache. The demo,
// the drills and many tests live in it.
//
// It never leaves loopback on its own: every address is one that the caller
// gave, and FreeAddrs gives loopback ones. It uses no file and no signal; what
// can be done to it is done by a method or an HTTP request.
//
// The server is net/http, because here it plays the web servers of other
// people; how they are probed is not its business. The cache asks and answers
// with github.com/miekg/dns, and its upstream is package authority or any other
// authoritative server.
//
// The road goes on to whole outages: a site that goes dark, a network that loses
// packets.
package lab
