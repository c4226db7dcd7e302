// Package route53 edits one hosted zone of Amazon Route 53 through its API, by
// the AWS SDK.
//
// It lists the hosted zone, which says how many record sets there are, and then
// all of them by pages, the stamp first where they do not fit one page. A list
// that is shorter than the count, has no SOA, or leads in a circle is an error.
//
// It writes one ChangeBatch, which Route 53 applies whole or not at all. Its
// DELETEs match exactly, values, TTL and every attribute, and its CREATEs fail
// where something is: that is the comparison which fences. In the batch are the
// stamp, the record set as it was listed and as it becomes, and the set of
// parked copies likewise. There is never an UPSERT, which compares nothing, and
// never a second attempt: a batch whose answer was lost may have been applied.
// Of a batch that was refused, a list says why, not the text of the refusal.
//
// Route 53 has no paused state: a paused value is a readable TXT copy below the
// name, written in the same batch that takes the value out.
//
// # Sets with an identifier
//
// A set with a set identifier (weighted, latency, failover, geolocation,
// geoproximity, IP-based, multivalue) is a variant of its name and type, by
// that identifier. Its values are switched like those of a plain set, and every
// other attribute goes back as it came; when its last value is paused, the copy
// keeps the attributes. A set that is not there is made anew only from such a
// copy, or beside weighted sets as one more of them.
//
// Weights for the values of one plain set are kept as Route 53 keeps them:
// as weighted sets, one for each value, whose identifier is the value itself.
// The first weight above 1 parts a plain set into such sets, in one batch. As
// long as all weights are 1 the set stays plain, and is answered with all of its
// values at once. A weight of 0 is only given while another set of the group has
// one above, because a group of zeros is answered with everything.
//
// Aliases, and sets of traffic policies, have no values: they are never written,
// and a call to one is refused.
//
// # Live test
//
// With a real account and a hosted zone that holds nothing of worth:
//
//	SIDESTEP_LIVE_ROUTE53_ZONE=example.com SIDESTEP_LIVE_ROUTE53_ID=Z0123456789 \
//	  go test -tags live -run Live ./providers/route53
//
// The credential comes from where the SDK looks. The test writes below the name
// sidestep-live of the zone and takes away what it wrote.
//
// The four interfaces of libdns are implemented too, for other programs; they
// obey libdns's contract, in which there is neither stamp nor pause, and
// sidestep's own writes never go through them.
//
// route53test is a strict fake of the API for tests. The contract is in
// pkg/provider, the only caller of the writes is pkg/reconcile.
package route53
