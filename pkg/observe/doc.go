// Package observe looks at a name from the outside, as the clients of a zone
// do, and reports what it saw: facts with their source and time, no verdicts.
//
// Ask is one view: what one authoritative server answers for one name and type,
// asked directly, past every cache. This is how a write is verified. Exchange, on
// which it rests, carries one question to one server and is there for whoever
// reads the answer in another way.
//
// # The clocks of a switch
//
// When a name moves from one server to another, four things move, each at its
// own time: what the name servers of the zone answer, what a resolver answers
// out of its cache, where a new connection leads, and where one leads that was
// opened before and is used again. A changed answer moves no open connection,
// and a repaired name is not there for who has its absence in a cache.
//
// Watch looks at all of them at one moment, side by side, as often as it is
// asked to (Watcher.Sample, Watcher.Run); with Watcher.Follow none waits for
// another that is slow. A Timeline takes the Samples and says
// what changed between two of them; Findings are the rows of the decision Table
// that fit the last one, and Gaps what could not be read at all. SVG draws it.
//
//	servers, err := observe.FindServers(ctx, resolvers, "example.com.")
//	var line observe.Timeline
//	err = observe.Watch(observe.Options{…}, func(w *observe.Watcher) error {
//		w.Follow(ctx, time.Second, func(s observe.Sample) bool {
//			for _, event := range line.Add(s) {
//				fmt.Println(event)
//			}
//			return len(line.Samples) < 60
//		})
//		return nil
//	})
//
// Whoever rehearses a switch takes samples by hand: Sample, change something,
// Sample; Watcher.Retire closes the kept connection in order, as a client does
// that was told to move.
//
// # What is looked at
//
// The authoritative servers are those of the zone's NS records, with all their
// addresses of both families, as the resolvers tell them (FindServers), or a
// list. They are found once. An answer without the AA flag is that of a server
// which does not have the zone, whatever it says.
//
// The resolvers are asked in their order until one tells, each with an equal
// part of the time. Their TTL is what is left of it in the cache; of a negative
// answer the lower of the SOA's TTL and MINIMUM, as the cache counts it down
// (RFC 2308 section 5). NXDOMAIN and NODATA are told apart.
//
// A request goes over a new connection to each address that the resolver gave,
// eight at most, with Host, SNI and certificate name of the URL; and over the
// kept one, which was opened at the first of them that took it. No redirect is
// followed, no proxy of the environment is used, no name is resolved but through
// the resolvers. What leads to this machine or its neighbours is not dialled, as
// filtering resolvers answer so. A kept connection that a server closes is
// replaced at the next sample, as clients do, and the Reply says when and how it
// ended. One whose request gets no answer in time, or none of HTTP, is closed by
// us where the protocol has no other way (HTTP/1.1), and counts as ended by us.
//
// With a Via every request goes through a proxy, or to a gateway, whose address
// stays: that is then the socket peer, and the identity of the backend alone
// tells what is behind it. A proxy resolves the name by itself.
//
// # What is bounded, and what is never shown
//
// Headers of one answer: 64 KiB. The identity is looked for in the first 64 KiB
// of a body; at most 1 MiB of it is read to keep a connection. What a server
// sent is escaped and cut at 200 bytes, an identity at its first line and 64.
// Nothing else of a body or of header values, no query of the URL and no
// credentials are ever part of what is reported.
//
// The package never changes anything and logs nothing. Whatever it starts has
// ended when the call returns; what a Watcher holds between two samples, when
// Watch does.
package observe
