// Package lease is the contract of leadership: who may write to the zones.
//
// One node at a time holds a lease. The holder asks the gate last before each
// write, after the call is built and signed: is the lease good for longer than
// the call may take? Losing the lease is not an event that arrives in time; the
// gate is what keeps a node that stood still, or that was cut off, from writing
// on.
//
// Time in a lease is boot time (pkg/clock), never the date: a step of the wall
// clock must neither end a lease nor make it immortal, and suspended time
// counts.
//
// What a lease does not do: it does not call back writes that are under way. A
// killed holder frees a file lock at once while its last call still travels;
// whoever comes next treats every answer as doubtful until quiet. And it is no
// fence: where the provider can compare and swap, every write is fenced besides.
//
// Kinds: pkg/lease/file (one host), pkg/lease/etcd (nodes that share an etcd),
// pkg/lease/none (the user's word that there is no other). pkg/reconcile is the only
// one who asks the gate. pkg/lease/zone is another thing: what can be known of a lease
// that stands in the zone itself.
package lease
