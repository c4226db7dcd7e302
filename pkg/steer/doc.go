// Package steer decides what one record set should answer with: from which of
// its answers are usable, what the zone shows now, and the policy of the
// config, to the wanted set and the reason of each value in it.
//
// The values of a record set are in tiers, and it answers from the first that
// works: the ordinary answers, those of mode backup, those for disasters where
// they stand in when none of the others is usable, and at last the fallback
// list. While the scenario of a disaster holds, those for disasters come first;
// when they are all down they are passed over. Within a tier the policy
// chooses. A standby answer that nobody calls comes judged unusable, and is an
// ordinary one otherwise.
//
// What is not known moves nothing. A live answer that is not judged stays, and
// holds its place; beside it nothing of a worse tier is put in and nothing that
// works is taken out. The same goes for a disaster of which it is not known
// whether it is over.
//
// With the policy priority a better answer that came back displaces a worse
// live one only after the hold of its failback, a worse tier as a whole counting
// as worse. Nothing is held back while nothing usable is live. A pin is exact: it
// beats everything, min_live too, and leaves the hold running.
//
// It never counts results (pkg/health does), never sees a provider and never
// reads a clock: times come in as values. Decide is a pure function; the same
// input gives the same answer on every node, and a wanted set that was carried
// out leaves nothing to decide.
//
// The road goes on in pkg/plan, which compares the wanted set with the zone.
package steer
