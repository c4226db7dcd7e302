package daemon

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/clock"
	"sidestep/pkg/config"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
	"sidestep/providers/local"
)

// BenchmarkDecidingResultToWrite measures how long it takes from the result that
// decides to the moment at which the adapter is asked to write, beyond the
// debounce: through the engine, the journal and the state on a real disk, the
// list of the zone and the plan. The aim is 20 ms.
func BenchmarkDecidingResultToWrite(b *testing.B) {
	b.Run("memory", func(b *testing.B) {
		zone := memory.NewZone(home, class)
		for _, value := range both {
			if err := zone.EditByHand(memory.Put(string(www.Name), "A", time.Minute, value)); err != nil {
				b.Fatal(err)
			}
		}
		benchFailover(b, zone.Adapter("mon-1"))
	})
	b.Run("local", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "zone")
		text := `$ORIGIN example.com.
$TTL 60
@ SOA ns hostmaster 1 3600 600 86400 60
@ NS ns
ns A 127.0.0.1
www A 192.0.2.10
www A 192.0.2.20
`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
		adapter, err := local.New(provider.Settings{Zone: home, Options: map[string]string{"file": path}})
		if err != nil {
			b.Fatal(err)
		}
		benchFailover(b, adapter)
	})
}

var both = []string{"192.0.2.10", "192.0.2.20"}

// timed tells when the adapter is asked to write.
type timed struct {
	provider.Fencer

	asked chan time.Time
}

func (t timed) Add(ctx context.Context, call provider.Call) error {
	t.tell()
	return t.Fencer.Add(ctx, call)
}

func (t timed) TakeAway(ctx context.Context, call provider.Call) error {
	t.tell()
	return t.Fencer.TakeAway(ctx, call)
}

func (t timed) tell() {
	select {
	case t.asked <- time.Now():
	default: // the first call of a failover is the one that counts
	}
}

const benchDebounce = 10 * time.Millisecond

// benchFailover takes one of two values out and puts it back, again and again.
func benchFailover(b *testing.B, adapter provider.Adapter) {
	timed := timed{adapter.(provider.Fencer), make(chan time.Time, 1)}
	d := benchDaemon(b, timed)
	ctx, stop := context.WithCancel(b.Context())
	done := make(chan error)
	go func() { done <- d.Run(ctx) }()
	report := func(value string, outcome check.Outcome) {
		d.results([]check.Result{{
			Target:  check.Target{Check: "web", Address: value},
			Outcome: outcome, Phase: check.PhaseConnect, Cause: check.CauseRefused, Start: d.clock.Boot(), End: d.clock.Boot(),
		}})
	}
	settle := func(want ...string) {
		for deadline := time.Now().Add(10 * time.Second); ; {
			snapshot, err := adapter.List(ctx)
			if err == nil && slices.Equal(snapshot.Set(www).Live(), want) && d.leader.leads() {
				return
			}
			if time.Now().After(deadline) {
				b.Fatalf("the zone did not come to %v: %v", want, err)
			}
			time.Sleep(time.Millisecond)
		}
	}
	for _, value := range both {
		report(value, check.Pass)
	}
	settle(both...)
	var total, worst time.Duration
	for n := 0; b.Loop(); n++ {
		outcome, want := check.Fail, both[1:]
		if n%2 == 1 {
			outcome, want = check.Pass, both
		}
		began := time.Now()
		report(both[0], outcome)
		beyond := (<-timed.asked).Sub(began) - benchDebounce
		total, worst = total+beyond, max(worst, beyond)
		settle(want...)
		time.Sleep(benchDebounce) // the round ends, and the engine hears of it
		select {
		case <-timed.asked: // of the second call, where one does not do both
		default:
		}
	}
	b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "ms/write")
	b.ReportMetric(float64(worst.Microseconds())/1000, "ms/worst")
	stop()
	if err := <-done; err != nil {
		b.Error(err)
	}
}

func benchDaemon(b *testing.B, adapter provider.Adapter) *Daemon {
	cfg := &config.Config{
		Node:      config.Node{Name: "mon-1"},
		State:     config.State{Dir: b.TempDir(), MaxAge: time.Minute},
		Leader:    config.Leader{Lock: config.LockFile},
		Reconcile: config.Reconcile{Debounce: benchDebounce, RetryBase: time.Second, RetryMax: time.Second},
		Zones:     []config.Zone{{Name: home, Provider: "bench"}},
		Checks: map[string]*check.Spec{"web": {
			Name: "web", Kind: check.KindTCP, TCP: &check.TCP{Port: 443}, Interval: time.Hour, Timeout: time.Second, Fall: 1, Rise: 1,
		}},
		Records: []*steer.Spec{{
			Key: record.Key{Zone: home, Name: www.Name, Type: record.A}, TTL: time.Minute,
			Policy: steer.All, MaxLive: 1, MinLive: 1, OnAllDown: steer.Keep, Checks: []string{"web"},
			Answers: []steer.Answer{{Value: both[0], Probe: both[0]}, {Value: both[1], Probe: both[1]}},
		}},
	}
	d, err := New(Options{
		Config: cfg, Logger: slog.New(slog.DiscardHandler), Clock: clock.System(), Write: true, Probe: newSite().probe,
		Registry: provider.Registry{"bench": func(provider.Settings) (provider.Adapter, error) { return adapter, nil }},
	})
	if err != nil {
		b.Fatal(err)
	}
	return d
}
