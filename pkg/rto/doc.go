// Package rto works out how long a switch takes: from the moment at which an
// address dies until the clients are elsewhere, and back once it lives again;
// each at best, as expected and at worst, split into its parts.
//
// It is arithmetic over the config. Only what happens in the world, how long a
// write takes and how long the name servers need to tell of it, comes from what
// was measured, and is assumed, and said to be, where nothing was.
//
// What the columns stand for:
//
//   - Best: the address dies just before a probe, every probe is refused at once,
//     and the client asks when its resolver's copy has just ended. Nothing is
//     faster, unless another change of the zone has already opened the debounce
//     window.
//   - Expected: it dies anywhere between two probes, and nothing comes back from
//     it, so that probes end by their timeout. Resolvers are half through the TTL.
//   - Worst: it dies just after a probe began, one probe more comes to nothing
//     (late, lost, or still answered), and the resolver has just asked. Of several
//     checks only the slowest sees it.
//
// An address may be taken out by each of the record set's checks, and by each
// target that the scenario of its answer rests on. The fastest of them decides
// what is best, the slowest what is worst. Between two failures lies the
// interval, or fastinter, but never less than a probe takes.
//
// What no arithmetic can promise is listed with the numbers (Estimate.Limits).
// Gains are other settings, each worked out by the same arithmetic with nothing
// else changed.
//
// The package is part of the decision core: values in, values out. A test plays
// random configs in virtual time (pkg/simulate) and finds every write between
// best and worst.
package rto
