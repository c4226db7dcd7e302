package daemon

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/notify"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// mailbag is who is told: it keeps messages, or hangs.
type mailbag struct {
	mu   sync.Mutex
	got  []notify.Message
	hang atomic.Bool
}

func (m *mailbag) ID() string          { return "bag" }
func (m *mailbag) Pace() time.Duration { return time.Second }
func (m *mailbag) String() string      { return "bag" }

func (m *mailbag) Send(ctx context.Context, message notify.Message) (string, error) {
	if m.hang.Load() {
		<-ctx.Done()
		return "", &notify.Error{To: "bag", Text: "no answer", Again: true}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.got = append(m.got, message)
	return "ok", nil
}

// titles are what each message was about, one a line.
func (m *mailbag) titles() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []string
	for _, message := range m.got {
		list = append(list, strings.TrimPrefix(message.Title(), "sidestep "))
	}
	return strings.Join(list, "\n")
}

func (m *mailbag) text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []string
	for _, message := range m.got {
		list = append(list, message.Text())
	}
	return strings.Join(list, "\n")
}

func (m *mailbag) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.got = nil
}

// telling has a world's daemons tell a mailbag.
func (w *world) telling(bag *mailbag) func(*Options) {
	w.config.Notify = []config.Notify{{URL: provider.NewSecret("slack://127.0.0.1/MARKER"), On: notify.Topics}}
	return func(o *Options) {
		o.Sender = func(*notify.Receiver) notify.Sender { return bag }
	}
}

// announcing is a world whose daemon tells a mailbag, after its start.
func announcing(t *testing.T, change ...func(*Options)) (*world, *mailbag, *running) {
	t.Helper()
	w, bag := newWorld(t, class), &mailbag{}
	d := w.run(append(change, w.telling(bag))...)
	time.Sleep(settled)
	return w, bag, d
}

// hanging is the same after a failover, all the time of which the mailbag hung.
func hanging(t *testing.T) (*world, *mailbag, *running) {
	t.Helper()
	w, bag := newWorld(t, class), &mailbag{}
	bag.hang.Store(true)
	d := w.run(w.telling(bag))
	time.Sleep(settled)
	w.site.fail(a)
	time.Sleep(settled)
	w.mustLive(b)
	return w, bag, d
}

// A failover is one message, with what was written, and so is the way back, with how
// long it took; a restart in between says nothing again.
func TestAFailoverIsTold(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, bag, d := announcing(t)
		if got := bag.titles(); got != "mon-1: this node leads" {
			t.Errorf("at the start: %s", got)
		}
		bag.clear()
		w.site.fail(a)
		time.Sleep(2 * time.Minute)
		if got := bag.titles(); got != "mon-1: 1 target down; 2 changes written" {
			t.Errorf("of the failover: %s", got)
		}
		for _, want := range []string{"connect/refused: web@192.0.2.10", "rest on that: www.example.com. A", "www.example.com. A: create 192.0.2.20, pause 192.0.2.10"} {
			if !strings.Contains(bag.text(), want) {
				t.Errorf("no %q in %s", want, bag.text())
			}
		}
		bag.clear()
		d.end()
		d = w.run(w.telling(bag))
		time.Sleep(2 * time.Minute)
		w.site.heal(a)
		time.Sleep(2 * time.Minute)
		if got := bag.titles(); got != "mon-1: this node leads\nmon-1: 1 target up again" || !strings.Contains(bag.text(), "written meanwhile: www.example.com. A: create 192.0.2.20") {
			t.Errorf("after the restart: %s", bag.text())
		}
		d.end()
		bag.clear()
		w.run(w.telling(bag))
		time.Sleep(settled)
		if got := bag.titles(); got != "mon-1: this node leads" {
			t.Errorf("after the second restart: %s", got)
		}
	})
}

// TestCase98MassOutageIsOneMessage brings 500 targets down and up again.
func TestCase98MassOutageIsOneMessage(t *testing.T) {
	t.Parallel()
	bubbled(t, func(t *testing.T) {
		w, bag := newWorld(t, class), &mailbag{}
		var many []string
		for i := range 500 {
			many = append(many, fmt.Sprintf("198.51.%d.%d", i/250, i%250+1))
		}
		w.addSet(&steer.Spec{
			Key: record.Key{Zone: home, Name: "many.example.com.", Type: record.A}, Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep,
		}, many...)
		d := w.run(w.telling(bag))
		time.Sleep(settled)
		bag.clear()
		w.site.fail(many...)
		time.Sleep(75 * time.Second)
		d.kill()
		w.run(w.telling(bag))
		time.Sleep(20 * time.Second)
		w.site.heal(many...)
		time.Sleep(75 * time.Second)
		downs, ups := 0, 0
		for title := range strings.SplitSeq(bag.titles(), "\n") {
			if strings.Contains(title, " down") {
				downs++
			}
			if strings.Contains(title, " up again") {
				ups++
			}
		}
		if downs != 1 || ups != 1 || !strings.Contains(bag.titles(), "500 targets down") || !strings.Contains(bag.titles(), "500 targets up again") {
			t.Errorf("told of %d ways down and %d ways up:\n%s", downs, ups, bag.titles())
		}
	})
}

// A receiver that hangs for ever delays no write, and its message arrives when it
// does not hang any more.
func TestAHangingReceiverDelaysNoFailover(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, bag, _ := hanging(t)
		if late := w.when(w.writes(home)[0]).Sub(w.site.failures(a)[2].Add(time.Second)); late < 0 || late > handOver {
			t.Errorf("written %s beyond the debounce of a second after the third failure", late)
		}
		bag.hang.Store(false)
		time.Sleep(3 * time.Minute)
		if got := bag.titles(); got != "mon-1: this node leads\nmon-1: 1 target down; 2 changes written" {
			t.Errorf("late: %s", got)
		}
	})
}

// A command that saves without a daemon loses nothing of what that has to say.
func TestACommandKeepsWhatIsToBeSaid(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, bag, d := hanging(t)
		d.end()
		one, progress, _ := w.once(true)
		request := control.OverrideRequest{Kind: "drain", Target: b, For: "forever", Reason: "test"}
		if _, err := one.OverrideOnce(t.Context(), request, "ann", progress); err != nil {
			t.Fatal(err)
		}
		bag.hang.Store(false)
		w.run(w.telling(bag))
		time.Sleep(3 * time.Minute)
		if !strings.Contains(bag.titles(), "1 target down") {
			t.Errorf("told: %s", bag.titles())
		}
	})
}

// A standby says nothing of what the leader says, and knows it when it leads.
func TestAStandbyLeavesItToTheLeader(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, bag, other := newWorld(t, class), &mailbag{}, &mailbag{}
		first := w.run(w.telling(bag))
		time.Sleep(settled)
		second := w.run(w.telling(other))
		time.Sleep(settled)
		w.site.fail(a)
		time.Sleep(10 * time.Minute)
		if got := other.titles(); got != "" || !strings.Contains(bag.titles(), "1 target down") {
			t.Errorf("the standby says %q, the leader %q", got, bag.titles())
		}
		first.end()
		time.Sleep(settled)
		w.site.heal(a)
		time.Sleep(2 * time.Minute)
		if got := other.titles(); got != "mon-1: this node leads\nmon-1: 1 target up again" || !strings.Contains(other.text(), "down for 11m") {
			t.Errorf("after taking over: %s", other.text())
		}
		second.end()
	})
}

// A zone that cannot be written for a minute is told of, and the end of that; a
// shorter trouble is not.
func TestAZoneInTroubleIsTold(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, bag, _ := announcing(t)
		bag.clear()
		refused := func(memory.Op, int) memory.Fault { return memory.Fault{Kind: memory.Refused} }
		w.zones[home].Faults(refused)
		w.site.fail(a)
		time.Sleep(10 * time.Minute)
		if !strings.Contains(bag.text(), "- example.com: cannot list the zone for") {
			t.Errorf("told: %s", bag.text())
		}
		n := strings.Count(bag.text(), "cannot list")
		w.zones[home].Faults(nil)
		time.Sleep(10 * time.Minute)
		if !strings.Contains(bag.text(), "can be listed and written again, after") || n > 2 {
			t.Errorf("told: %s", bag.text())
		}
	})
}

// TestCase87OldOverridesRemind sets a drain for ever and a freeze in an outage: each
// is told of once a day, and the freeze once its reason is over.
func TestCase87OldOverridesRemind(t *testing.T) {
	t.Parallel()
	bubbled(t, func(t *testing.T) {
		w, bag := newWorld(t, class), &mailbag{}
		w.config.Checks["web"].Interval = 2 * time.Minute
		d := w.run(w.telling(bag))
		time.Sleep(10 * time.Minute)
		d.overrule(control.OverrideRequest{Kind: "drain", Target: b, For: "forever", Reason: "old"})
		w.site.fail(a)
		time.Sleep(10 * time.Minute)
		d.overrule(control.OverrideRequest{Kind: "freeze", Target: "all", For: "forever", Reason: "outage"})
		time.Sleep(time.Hour)
		w.site.heal(a)
		bag.clear()
		time.Sleep(2 * time.Hour)
		if n := strings.Count(bag.text(), "what was down under it is up again"); n != 1 || !strings.Contains(bag.text(), "sidestep unfreeze") {
			t.Errorf("a freeze without its reason is told of %d times: %s", n, bag.text())
		}
		bag.clear()
		time.Sleep(24 * time.Hour)
		for _, what := range []string{"drain is still there", "freeze is still there"} {
			if n := strings.Count(bag.text(), what); n != 1 {
				t.Errorf("%q %d times in a day:\n%s", what, n, bag.text())
			}
		}
	})
}

// A reload may bring receivers, and what it takes out of the config is told of no more.
func TestReloadBringsReceivers(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, bag := newWorld(t, class), &mailbag{}
		telling := w.telling(bag)
		entries := w.config.Notify
		w.config.Notify = nil
		d := w.run(telling, w.reloading(func(c *config.Config) error { c.Notify = entries; return nil }))
		time.Sleep(settled)
		if err := d.Reload(); err != nil {
			t.Fatal(err)
		}
		w.site.fail(a)
		time.Sleep(2 * time.Minute)
		if got := bag.titles(); got != "mon-1: 1 target down; 2 changes written" {
			t.Errorf("told: %s", got)
		}
	})
}

// A shadow speaks, and says what it is.
func TestAShadowSpeaks(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w, bag, _ := announcing(t, func(o *Options) { o.ReadOnly = true })
		w.site.fail(a)
		time.Sleep(2 * time.Minute)
		if got := bag.titles(); got != "mon-1 (read-only): 1 target down" {
			t.Errorf("told: %s", got)
		}
	})
}
