package reconcile

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
)

// slowLine lists a zone that takes longer than a call may, once it is to.
type slowLine struct {
	memory.FencedLine

	from, takes time.Duration // from this boot time on
	clock       interface{ Boot() time.Duration }
}

func (s slowLine) Promises() provider.Promises {
	p := s.FencedLine.Promises()
	p.List = 2 * time.Minute
	return p
}

func (s slowLine) List(ctx context.Context) (*provider.Snapshot, error) {
	if s.clock.Boot() < s.from {
		return s.FencedLine.List(ctx)
	}
	if err := provider.Sleep(ctx, s.takes); err != nil {
		return nil, provider.Failf(provider.Retryable, "list", "timeout", "%v", err)
	}
	return s.FencedLine.List(ctx)
}

// slowPack is a pack whose lists take so long, from so long after the start on.
func slowPack(t *testing.T, after, takes time.Duration) *pack {
	p := newPack(t, memory.Options{Class: memory.Exact}, 0)
	from := p.clock.Boot() + after
	p.wrap = func(n *wolf, line memory.FencedLine) provider.Adapter { return slowLine{line, from, takes, n.clock} }
	p.add(2)
	return p
}

// others is the one of two that is not this one.
func (p *pack) other(n *wolf) *wolf {
	if p.wolf[0] == n {
		return p.wolf[1]
	}
	return p.wolf[0]
}

// A list may take longer than a heartbeat: the zone has a leader all the same, and
// another when that one is killed.
func TestListLongerThanAHeartbeat(t *testing.T) {
	for _, takes := range []time.Duration{11 * time.Second, 20 * time.Second} {
		bubble(t, func(t *testing.T) {
			p := slowPack(t, 0, takes)
			defer p.end()
			time.Sleep(time.Minute)
			first := p.leader()
			if first == nil {
				t.Fatal("after a minute nobody leads")
			}
			for range 10 {
				time.Sleep(time.Minute)
				if p.leader() != first {
					t.Fatalf("%v leads, and not %s any more", p.leader(), first.name)
				}
			}
			first.kill()
			second := p.other(first)
			second.write.Submit(p.want(values[2]))
			time.Sleep(p.times.Worst() + 3*takes + p.times.Lag)
			if !second.leading() {
				t.Fatal("the standby did not take over")
			}
			p.mustLive(t, values[2])
		})
	}
}

// A leader that cannot look at the stamp says so, and says it before it is one no
// more.
func TestFailedLookIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPack(t, memory.Options{Class: memory.Exact}, 1)
		defer p.end()
		time.Sleep(time.Minute)
		n := p.wolf[0]
		n.line.Set(func(l *memory.Line) { l.Cut = true })
		time.Sleep(time.Minute)
		if lead, _ := n.write.Leadership(zoneName); !lead.Leads || lead.Unseen == nil {
			t.Errorf("after a minute: %+v", lead)
		}
		time.Sleep(2 * time.Minute)
		lead, _ := n.write.Leadership(zoneName)
		if text := fmt.Sprint(lead.Why); !strings.Contains(text, "the last look at the stamp failed") || !strings.Contains(text, "no route to the provider") {
			t.Errorf("after three minutes: %s", text)
		}
		n.line.Set(func(l *memory.Line) { l.Cut = false })
		time.Sleep(time.Minute)
		if lead, _ := n.write.Leadership(zoneName); !lead.Leads || lead.Unseen != nil {
			t.Errorf("with the way back: %+v", lead)
		}
	})
}

// While a list need not show the last heartbeat yet, another's stamp in it may be
// one that replaced it, and stays.
func TestHeartbeatInsideTheLagTakesNothingBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPack(t, memory.Options{Class: memory.Exact}, 0)
		defer p.end()
		p.times.Heartbeat, p.times.Takeover, p.times.Poll = 3*time.Second, time.Minute, 5*time.Second
		p.add(2)
		time.Sleep(time.Minute)
		second := p.other(p.leader())
		if r := second.write.Do(t.Context(), p.want(values[1]), Orders{TakeOver: true}); r.Err != nil {
			t.Fatalf("the take-over: %v", r.Err)
		}
		for range 12 {
			time.Sleep(5 * time.Second)
			if !second.leading() || p.other(second).leading() {
				t.Fatal("the zone was taken back")
			}
		}
		p.mustLive(t, values[1])
	})
}

// A list that takes longer than all the heartbeats that may be lost costs a living
// leader nothing: it renews its stamp just before.
func TestLongListKeepsTheLead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := slowPack(t, 3*time.Minute, 100*time.Second)
		defer p.end()
		time.Sleep(3*time.Minute + 25*time.Second)
		first := p.leader()
		for i := range 6 {
			first.write.Look(zoneName)
			time.Sleep(150 * time.Second)
			if i == 3 {
				first.write.Submit(p.want(values[1]))
				time.Sleep(10 * time.Minute)
				p.mustLive(t, values[1])
			}
			if !first.leading() {
				t.Fatalf("after %d looks the lead is lost", i+1)
			}
		}
		for _, l := range p.other(first).told() {
			if l.Is.Leads {
				t.Error("the standby took over from a leader that lives")
			}
		}
	})
}
