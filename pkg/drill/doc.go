// Package drill rehearses a failover, and measures apart what a changed answer
// moves and what it does not: caches follow after a TTL, new connections follow the
// cache, and an open connection follows nobody.
//
// Local plays the reference experiment on loopback, with a name server, a caching
// resolver and two web servers of package lab. It asserts the order of events and
// never a time: what has to come first caused what comes after it.
package drill
