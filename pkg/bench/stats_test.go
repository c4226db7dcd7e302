package bench

import (
	"testing"
	"time"
)

const (
	second = time.Second
	milli  = time.Millisecond
)

func TestBeatCountsTheWindowAndMeasuresGaps(t *testing.T) {
	arrivals := []Arrival{
		{At: 9 * second, Index: 0}, // before the window
		{At: 10 * second, Index: 0},
		{At: 11 * second, Index: 1},
		{At: 12*second + 3*milli, Index: 0},
		{At: 13 * second, Index: 1},
		{At: 14 * second, Index: 0}, // after it
		{At: 13 * second, Index: 2}, // not picked
	}
	b := beatOf(arrivals, 10*second, 4*second, 2*second, 3, func(i int) bool { return i < 2 })
	want := Beat{Arrivals: 4, Share: 1, Median: 2*second + 3*milli, P50: 3 * milli, P99: 3 * milli, Max: 3 * milli}
	if b != want {
		t.Errorf("got %+v, want %+v", b, want)
	}
}

func TestFirstsFindsTheLastTargetToBeReached(t *testing.T) {
	took, seen := firsts([]Arrival{{5 * second, 1}, {6 * second, 1}, {7 * second, 0}, {8 * second, 1}}, 3)
	if took != 2*second || seen != 2 {
		t.Errorf("got %v and %d targets, want 2s and 2", took, seen)
	}
}

func TestMedians(t *testing.T) {
	for _, c := range []struct {
		list []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := median(c.list); got != c.want {
			t.Errorf("median of %v: got %v, want %v", c.list, got, c.want)
		}
	}
	list := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	if got := []int{quantile(list, 0), quantile(list, 0.5), quantile(list, 0.99), quantile(list, 1)}; got[0] != 1 || got[1] != 6 || got[2] != 10 || got[3] != 10 {
		t.Errorf("quantiles: got %v", got)
	}
}

func TestAddressesOfTargets(t *testing.T) {
	for i, want := range map[int]string{0: "127.1.0.1", 249: "127.1.0.250", 250: "127.1.1.1", 9999: "127.1.39.250", 62_500: "127.2.0.1"} {
		address := Address(i)
		if address.String() != want || indexOf(address.As4()) != i {
			t.Errorf("target %d: address %s, and back %d; want %s", i, address, indexOf(address.As4()), want)
		}
	}
	for _, a := range [][4]byte{{127, 0, 0, 1}, {10, 1, 0, 1}, {127, 1, 0, 0}, {127, 1, 0, 251}, {127, 1, 250, 1}} {
		if got := indexOf(a); got != -1 {
			t.Errorf("%v: got target %d, want none", a, got)
		}
	}
}
