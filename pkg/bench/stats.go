package bench

import (
	"cmp"
	"slices"
	"time"
)

// Beat is how well a prober kept its schedule over a window.
type Beat struct {
	Arrivals int
	Share    float64       // arrivals in parts of those that the schedule asks for
	Median   time.Duration // gap between two arrivals of a target; away from the interval, it drifts
	P50      time.Duration // |gap - interval|, of all gaps
	P99      time.Duration
	Max      time.Duration
}

// beatOf measures the arrivals of n targets in a window, of those targets that
// which picks.
func beatOf(arrivals []Arrival, from, window, interval time.Duration, n int, which func(i int) bool) Beat {
	last := make([]time.Duration, n)
	var gaps, off []time.Duration
	var b Beat
	picked := 0
	for i := range n {
		last[i] = -1
		if which(i) {
			picked++
		}
	}
	for _, a := range arrivals {
		i := int(a.Index)
		if i >= n || !which(i) || a.At < from || a.At >= from+window {
			continue
		}
		b.Arrivals++
		if last[i] >= 0 {
			gap := a.At - last[i]
			gaps, off = append(gaps, gap), append(off, max(gap-interval, interval-gap))
		}
		last[i] = a.At
	}
	if asked := float64(picked) * float64(window) / float64(interval); asked > 0 {
		b.Share = float64(b.Arrivals) / asked
	}
	slices.Sort(gaps)
	slices.Sort(off)
	b.Median, b.P50, b.P99, b.Max = quantile(gaps, 0.5), quantile(off, 0.5), quantile(off, 0.99), quantile(off, 1)
	return b
}

func all(int) bool { return true }

// firsts gives how long after the first arrival of all the last target was
// reached for the first time, and how many were reached at all.
func firsts(arrivals []Arrival, n int) (took time.Duration, seen int) {
	known := make([]bool, n)
	for _, a := range arrivals {
		if i := int(a.Index); i < n && !known[i] {
			known[i] = true
			seen++
			took = a.At - arrivals[0].At
		}
	}
	return took, seen
}

// quantile is the value below which a part q of a sorted list lies; zero for an
// empty one.
func quantile[T any](sorted []T, q float64) T {
	if len(sorted) == 0 {
		var zero T
		return zero
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// middle is the median of a sorted list; of an even number, the mean of two.
func middle(sorted []time.Duration) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// median of a list in any order; of an even number, the mean of the middle two.
func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(list))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// medianOf is the median of what get reads from each element.
func medianOf[E any, V cmp.Ordered](list []E, get func(E) V) V {
	values := make([]V, len(list))
	for i, e := range list {
		values[i] = get(e)
	}
	slices.Sort(values)
	return quantile(values, 0.5)
}
