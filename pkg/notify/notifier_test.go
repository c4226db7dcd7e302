package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/clock"
)

// room is a receiver that keeps what it gets, and fails as it is told to.
type room struct {
	name string
	mu   sync.Mutex
	got  []Message
	at   []time.Time
	fail func() error // nil takes everything
	hang atomic.Bool  // until the context ends
}

func (r *room) ID() string          { return r.name }
func (r *room) Pace() time.Duration { return 4 * time.Second }
func (r *room) String() string      { return "room " + r.name }

func (r *room) Send(ctx context.Context, m Message) (string, error) {
	if r.hang.Load() {
		<-ctx.Done()
		return "", &Error{To: r.name, Text: "no answer", Again: true}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		if err := r.fail(); err != nil {
			return "", err
		}
	}
	r.got, r.at = append(r.got, m), append(r.at, time.Now())
	return "ok", nil
}

// all is what it got.
func (r *room) all() []Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// mend has it take everything.
func (r *room) mend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail = nil
}

// about lists the titles of sections of a topic.
func (r *room) about(topic Topic) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	for _, m := range r.got {
		for _, s := range m.Sections {
			if s.Topic == topic {
				list = append(list, s.Title)
			}
		}
	}
	return list
}

// bench is a notifier that runs in virtual time.
type bench struct {
	*testing.T
	*Notifier
	stop func()
}

func start(t *testing.T, saved json.RawMessage, entries ...Entry) *bench {
	t.Helper()
	b := &bench{T: t, Notifier: New(Options{Node: "mon-1", Clock: clock.Bubble()})}
	b.Set(entries)
	b.Restore(saved)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = b.Notifier.Run(ctx) })
	b.stop = func() { cancel(); running.Wait() }
	t.Cleanup(b.stop)
	return b
}

func target(i int) string { return fmt.Sprintf("web@198.51.%d.%d", i/250, i%250) }

func (b *bench) down(i int) {
	b.Tell(Event{Topic: Down, At: time.Now(), About: target(i), Cause: "connect/timeout", Sets: []string{"www.example.com A"}})
}

func (b *bench) up(i int) { b.Tell(Event{Topic: Up, At: time.Now(), About: target(i)}) }

// TestCase98OneMessageForOneEvent lets 300 targets go down within ten seconds and come
// back after five minutes, with a restart in between, to a receiver that refuses for
// the first two minutes: one message of the outage, one of its end.
func TestCase98OneMessageForOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := &room{name: "r", fail: func() error {
			if time.Since(began) < 2*time.Minute {
				return &Error{To: "r", Text: "503", Again: true}
			}
			return nil
		}}
		b := start(t, nil, Entry{To: r})
		for i := range 300 {
			b.down(i)
			time.Sleep(10 * time.Second / 300)
		}
		b.Tell(Event{Topic: Write, At: time.Now(), About: "www.example.com A", Cause: Written, Text: "pause 198.51.0.1"})
		time.Sleep(time.Minute)
		b.stop() // before anything was delivered
		saved := b.State()
		if len(r.all()) != 0 {
			t.Fatal("delivered to one who refuses")
		}
		b = start(t, saved, Entry{To: r})
		time.Sleep(4 * time.Minute)
		for i := range 300 {
			b.up(i)
			time.Sleep(10 * time.Second / 300)
		}
		time.Sleep(time.Minute)
		b.stop()
		start(t, b.State(), Entry{To: r}) // a second restart repeats nothing
		time.Sleep(time.Hour)
		if down, up := r.about(Down), r.about(Up); fmt.Sprint(down, up) != "[300 targets down] [300 targets up again]" || len(r.all()) != 2 {
			t.Fatalf("%d messages: %q %q", len(r.all()), down, up)
		}
		for _, want := range []string{"300 targets down", "and 290 more", "www.example.com A: pause 198.51.0.1", "record sets that rest on that: www.example.com A"} {
			if !strings.Contains(r.all()[0].Text(), want) {
				t.Errorf("no %q in %s", want, r.all()[0].Text())
			}
		}
		for _, want := range []string{"down for 5m", "written meanwhile: www.example.com A: pause 198.51.0.1"} {
			if !strings.Contains(r.all()[1].Text(), want) {
				t.Errorf("no %q in %s", want, r.all()[1].Text())
			}
		}
	})
}

// One who hangs, one who refuses for good and one who takes all: nobody waits for
// another, and Tell waits for nobody.
func TestAHangingReceiverDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs, refuses, takes := &room{name: "hangs"}, &room{name: "refuses", fail: func() error { return errors.New("410") }}, &room{name: "takes"}
		hangs.hang.Store(true)
		b := start(t, nil, Entry{To: hangs}, Entry{To: refuses}, Entry{To: takes, On: []Topic{Down}})
		for i := range 5 {
			before := time.Now()
			b.down(i)
			if time.Since(before) > 0 {
				t.Fatal("Tell waited")
			}
			time.Sleep(15 * time.Second)
		}
		if n := len(takes.about(Down)); n != 5 {
			t.Errorf("%d messages arrived, want 5", n)
		}
		b.up(0)
		time.Sleep(time.Minute)
		if len(takes.about(Up)) != 0 {
			t.Error("told of what it does not want")
		}
		hangs.hang.Store(false)
		refuses.mend()
		b.down(9)
		time.Sleep(5 * time.Minute)
		if n := len(hangs.about(Down)); n != 6 {
			t.Errorf("%d messages arrived late, want 6", n)
		}
		if n := len(refuses.about(Down)); n != 1 || refuses.all()[0].Dropped != 6 {
			t.Errorf("after refusals: %d messages, of which the first says that %d were dropped", n, refuses.all()[0].Dropped)
		}
	})
}

// A full queue drops the oldest, a message that is too old is dropped, and the next
// that arrives says how many.
func TestWhatIsDroppedIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		broken.Store(true)
		r := &room{name: "r", fail: func() error {
			if broken.Load() {
				return &Error{Text: "busy", Again: true}
			}
			return nil
		}}
		b := start(t, nil, Entry{To: r})
		told := 0
		for range 40 { // one a minute, as many as the cap lets through
			b.Tell(Event{Topic: Guard, At: time.Now(), About: "www", Cause: "mass", Text: "held"})
			told++
			time.Sleep(time.Minute)
		}
		if s := b.Stats()[0]; s.To != "room r" || s.Waiting != mostQueued || s.Dropped != told-mostQueued || s.Delivered != 0 || s.Failed < 40 || s.Oldest < 31*time.Minute || s.Oldest > mostAge {
			t.Errorf("while it is busy: %+v", s)
		}
		broken.Store(false)
		time.Sleep(10 * time.Minute)
		if s := b.Stats()[0]; s.Waiting != 0 || s.Oldest != 0 || s.Delivered != mostQueued {
			t.Errorf("afterwards: %+v", s)
		}
		got := 0
		for _, m := range r.all() {
			got++
			got += m.Dropped
		}
		if got != told || r.all()[0].Dropped != told-mostQueued || !strings.Contains(r.all()[0].Text(), "8 messages before this one could not be delivered") {
			t.Errorf("%d of %d told or counted, first: %s", got, told, r.all()[0].Text())
		}
		broken.Store(true)
		b.down(1)
		time.Sleep(2 * time.Hour)
		broken.Store(false)
		b.up(1)
		time.Sleep(2 * time.Minute)
		last := r.all()[len(r.all())-1]
		if last.Dropped != 1 || last.Sections[0].Topic != Up {
			t.Errorf("last: %s", last.Text())
		}
	})
}

// Retries pause longer and longer, no shorter than asked, and messages keep the pace.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, tries := time.Now(), []string{}
		r := &room{name: "r"}
		r.fail = func() error {
			tries = append(tries, time.Since(began).String())
			switch len(tries) {
			case 1, 2, 3:
				return &Error{Text: "busy", Again: true}
			case 4:
				return &Error{Text: "429", Again: true, After: 90 * time.Second}
			}
			return nil
		}
		b := start(t, nil, Entry{To: r})
		b.down(0)
		time.Sleep(calm + time.Second/2)
		b.down(1)
		time.Sleep(10 * time.Minute)
		b.stop()
		if got := strings.Join(tries, " "); got != "10s 11s 13s 17s 1m47s 1m51s" {
			t.Errorf("tried at %s", got)
		}
	})
}

// A flapping target is told of no more often than the cap allows.
func TestFlappingIsCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &room{name: "r"}
		b := start(t, nil, Entry{To: r})
		for range 6 * 60 {
			b.down(0)
			time.Sleep(15 * time.Second)
			b.up(0)
			time.Sleep(15 * time.Second)
		}
		if n := len(r.all()); n > 3*6*perWindow+1 || n < 3*6*perWindow-perWindow {
			t.Errorf("%d messages in three hours", n)
		}
	})
}

// What another node tells of is not said, but it is known: the way back is tied to
// the way down, and who takes over says what is so new that nobody may have.
func TestWhatIsLeftToTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &room{name: "r"}
		b := start(t, nil, Entry{To: r})
		leave := func(topic Topic, i int) {
			b.Tell(Event{Topic: topic, At: time.Now(), About: target(i), Cause: "connect/timeout", Left: true})
		}
		leave(Down, 0)
		time.Sleep(20 * time.Minute)
		leave(Down, 1)
		leave(Down, 2)
		time.Sleep(time.Minute)
		leave(Up, 2)
		time.Sleep(time.Minute)
		if len(r.all()) != 0 {
			t.Fatalf("a standby says: %s", r.all()[0].Text())
		}
		b.TakeOver()
		time.Sleep(time.Minute)
		if fmt.Sprint(r.about(Down), r.about(Up)) != "[2 targets down] [1 target up again]" {
			t.Errorf("after taking over: %q %q", r.about(Down), r.about(Up))
		}
		b.up(0)
		time.Sleep(time.Minute)
		if last := r.all()[len(r.all())-1].Text(); !strings.Contains(last, "down for 23m0s") {
			t.Errorf("the way back: %s", last)
		}
		b.Compare(func(string) (bool, bool) { return false, false }, false) // the rest is out of the config
		b.up(1)
		time.Sleep(time.Minute)
		if n := len(r.about(Up)); n != 2 || b.Down() != 0 {
			t.Errorf("%d messages of a way back, %d targets down", n, b.Down())
		}
	})
}

// A kill in the open window loses no way down and no way back.
func TestKilledInTheOpenWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &room{name: "r"}
		b := start(t, nil, Entry{To: r})
		b.down(0)
		time.Sleep(time.Second)
		saved := b.State()
		b.Set(nil) // as good as dead
		b = start(t, saved, Entry{To: r})
		time.Sleep(time.Minute)
		b.up(0)
		time.Sleep(time.Second)
		saved = b.State()
		b.Set(nil)
		start(t, saved, Entry{To: r})
		time.Sleep(time.Minute)
		if fmt.Sprint(r.about(Down), r.about(Up)) != "[1 target down] [1 target up again]" {
			t.Errorf("%q %q", r.about(Down), r.about(Up))
		}
	})
}

// Everything else that there is to say, once each.
func TestOtherTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &room{name: "r"}
		b := start(t, nil, Entry{To: r})
		now := time.Now()
		b.Tell(Event{Topic: Write, At: now, About: "example.com", Text: "cannot be written: 401\r\nX: y"})
		b.Tell(Event{Topic: Guard, At: now, About: "example.com", Cause: "max_changes", Text: "6 of 5"})
		b.Tell(Event{Topic: Leader, At: now, About: "mon-1", Text: "leads"})
		b.Tell(Event{Topic: OverrideOld, At: now, About: "dc1", Text: "drain is still there"})
		time.Sleep(time.Minute)
		want := "sidestep mon-1: example.com: cannot be written: 401\\r\\nX: y; guard max_changes; mon-1: leads; an override is still there"
		if len(r.all()) != 1 || r.all()[0].Title() != want {
			t.Errorf("%d messages, first: %s", len(r.all()), r.all()[0].Title())
		}
	})
}

func TestStateThatIsBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, text := range []string{"x", `{"book":{"outages":[null,{"fallen":{"a":null}},{"fallen":{"b":{}}}]}}`} {
			b := start(t, json.RawMessage(text), Entry{To: &room{name: "r"}})
			b.up(0)
			time.Sleep(time.Minute)
		}
	})
}
