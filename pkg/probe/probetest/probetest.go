// Package probetest measures what probes cost, for benchmarks: the processor
// time of many of them side by side.
package probetest

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	probes  = 3000 // of one round
	workers = 32
)

// CPU is the processor time that this process used so far.
func CPU(b *testing.B) time.Duration {
	b.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Measure makes one round of probes, several at once, and gives the processor
// time of one. makeProbe is called once by each of those who probe.
func Measure(b *testing.B, makeProbe func() func() error) time.Duration {
	b.Helper()
	var todo atomic.Int64
	todo.Store(probes)
	before := CPU(b)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			probe := makeProbe()
			for todo.Add(-1) >= 0 {
				if err := probe(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return (CPU(b) - before) / probes
}

// Median is the middle one of a list that is not empty.
func Median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}
