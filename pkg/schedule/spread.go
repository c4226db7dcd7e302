package schedule

import (
	"hash/fnv"
	"math/bits"
	"time"
)

// tick is the grid of the dispatcher: it wakes up at multiples of it and
// starts whatever has become due since.
const tick = 10 * time.Millisecond

// phaseOf is the place of a target within its interval: the same at every
// start and on every node, and evenly spread over all targets.
func phaseOf(id string, interval time.Duration) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails (package hash)
	high, _ := bits.Mul64(mix(h.Sum64()), uint64(interval))
	return time.Duration(high)
}

// mix finishes the hash (the finaliser of MurmurHash3): FNV-1a alone moves
// the upper bits of ids that differ in their last byte, as addresses do, by
// next to nothing, which would put a whole network into one moment.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	return h
}

// slotAfter is the first slot later than now; slots are the moments that
// leave the remainder phase when they are divided by the interval.
func slotAfter(now, interval, phase time.Duration) time.Duration {
	slot := now - now%interval + phase
	if slot <= now {
		slot += interval
	}
	return slot
}

func gridFloor(t time.Duration) time.Duration { return t - t%tick }

func gridCeil(t time.Duration) time.Duration { return gridFloor(t + tick - 1) }
