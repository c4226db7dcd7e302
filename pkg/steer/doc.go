// Package steer decides what one record set should answer with: from which of
// its answers are usable, what the zone shows now, and the policy of the
// config, to the wanted set and the reason of each value in it.
//
// It never counts results (pkg/health does), never sees a provider and never
// reads a clock: times come in as values. Decide is a pure function; the same
// input gives the same answer on every node.
//
// The road goes on in pkg/plan, which compares the wanted set with the zone.
package steer
