package ping

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sidestep/pkg/probe/probetest"
)

const benchRounds = 9

// BenchmarkPingCPU compares the CPU time of a probe of one request with that of
// the barest loop: sendto and recvfrom on a socket of one's own, with nothing
// matched, timed or shared. Rounds are interleaved; medians of the ratios. One
// iteration is the whole comparison; the kernel's replying is in both.
func BenchmarkPingCPU(b *testing.B) {
	if !inNamespace(b) {
		return
	}
	peer := netip.MustParseAddr("127.0.0.2")
	p := new(Pinger)
	pinging := func(need int) func() func() error {
		return func() func() error {
			return func() error {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				answer, err := p.Ping(ctx, Ask{Peer: peer, Count: need, Need: need})
				if err != nil || answer.Came != need {
					return fmt.Errorf("%+v: %w", answer, err)
				}
				return nil
			}
		}
	}
	loops := []struct {
		name      string
		raw       bool
		makeProbe func() func() error
		times     []float64
	}{
		{name: "bare", makeProbe: func() func() error { return barePing(b, peer) }},
		{name: "datagram", makeProbe: pinging(1)},
		{name: "raw", raw: true, makeProbe: pinging(1)},
		{name: "two-replies", makeProbe: pinging(2)},
	}
	for b.Loop() {
		for round := range benchRounds + 1 {
			for i := range loops {
				allowDatagrams(b, !loops[i].raw)
				used := probetest.Measure(b, loops[i].makeProbe)
				if round > 0 {
					loops[i].times = append(loops[i].times, float64(used.Nanoseconds())/1000)
				}
			}
		}
	}
	ratio := func(of int) float64 {
		all := make([]float64, len(loops[of].times))
		for i := range all {
			all[i] = loops[of].times[i] / loops[0].times[i]
		}
		return probetest.Median(all)
	}
	b.ReportMetric(0, "ns/op") // says nothing here
	for i, l := range loops {
		b.ReportMetric(probetest.Median(l.times), l.name+"-cpu-us")
		if i > 0 {
			b.ReportMetric(ratio(i), l.name+"-ratio")
		}
	}
}

// barePing asks over a blocking socket of its own.
func barePing(b *testing.B, peer netip.Addr) func() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if err != nil {
		b.Error(err)
		return func() error { return err }
	}
	b.Cleanup(func() { _ = unix.Close(fd) })
	to := &unix.SockaddrInet4{Addr: peer.As4()}
	packet, buffer := appendRequest(nil, false, 0, 1, 1), make([]byte, packetSize)
	return func() error {
		if err := unix.Sendto(fd, packet, 0, to); err != nil {
			return err
		}
		_, _, err := unix.Recvfrom(fd, buffer, 0)
		return err
	}
}

// BenchmarkPingPaced is the everyday load: 1,000 addresses every 2 seconds,
// started in ticks of 10 ms as the schedule does; CPU time of a probe.
func BenchmarkPingPaced(b *testing.B) {
	if !inNamespace(b) {
		return
	}
	const (
		targets = 1000
		period  = 2 * time.Second
		tick    = 10 * time.Millisecond
		periods = 3
	)
	allowDatagrams(b, true)
	p := new(Pinger)
	for b.Loop() {
		for _, need := range []int{1, 2} {
			ticker := time.NewTicker(tick)
			var all sync.WaitGroup
			before, n := probetest.CPU(b), 0
			for range periods * int(period/tick) {
				<-ticker.C
				for range targets * int(tick) / int(period) {
					peer := netip.AddrFrom4([4]byte{127, 0, byte(1 + n%targets/250), byte(1 + n%250)})
					n++
					all.Go(func() {
						ctx, cancel := context.WithTimeout(context.Background(), period/2)
						defer cancel()
						if answer, err := p.Ping(ctx, Ask{Peer: peer, Count: need, Need: need}); err != nil || answer.Came != need {
							b.Errorf("%s: %+v %v", peer, answer, err)
						}
					})
				}
			}
			all.Wait()
			ticker.Stop()
			b.ReportMetric(float64((probetest.CPU(b)-before).Nanoseconds())/1000/float64(n), fmt.Sprintf("%d-replies-cpu-us", need))
		}
	}
	b.ReportMetric(0, "ns/op")
}
