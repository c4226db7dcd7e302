package drill

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sidestep/pkg/lab"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reference is the order of events, without the row of TLS.
var reference = []Event{AuthorityNew, CacheOld, CacheNew, KeptOld, NewAtB, NegativeCached, NegativeOld, Recovered}

// secure is the order with it.
var secure = []Event{AuthorityNew, CacheOld, CacheNew, KeptOld, Refused, NewAtB, NegativeCached, NegativeOld, Recovered}

// sideBySide plays several dramas, which mostly wait, all at once.
func sideBySide[T any](list map[string]T, play func(string, T)) {
	var all sync.WaitGroup
	for name, c := range list {
		all.Go(func() { play(name, c) })
	}
	all.Wait()
}

func TestLocal(t *testing.T) {
	t.Parallel()
	type drama struct {
		options LocalOptions
		want    []Event
	}
	sideBySide(map[string]drama{
		"first":    {LocalOptions{}, reference},
		"second":   {LocalOptions{}, reference},
		"third":    {LocalOptions{}, reference},
		"HTTP/2":   {LocalOptions{HTTP2: true}, reference},
		"TLS":      {LocalOptions{TLS: true}, secure},
		"TLS by 2": {LocalOptions{TLS: true, HTTP2: true}, secure},
	}, func(name string, c drama) {
		timeline, err := Local(context.Background(), c.options)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if !timeline.Held() || len(timeline.Rows) != len(c.want) {
			t.Errorf("%s: it did not hold: %+v", name, timeline)
		}
		for i, row := range timeline.Rows {
			if row.Event != c.want[i] || i > 0 && row.At < timeline.Rows[i-1].At {
				t.Errorf("%s: row %d is %s at %s, want %s", name, i+1, row.Event, row.At, c.want[i])
			}
		}
	})
}

// TestLocalDoesNotHold breaks the world before a row, which then says what was seen
// instead; the rows after it are not played.
func TestLocalDoesNotHold(t *testing.T) {
	t.Parallel()
	type drama struct {
		options LocalOptions
		before  Event // the row that is not to hold
		do      func(*localWorld) error
		instead string
	}
	sideBySide(map[string]drama{
		"the authority does not change": {LocalOptions{}, AuthorityNew, func(w *localWorld) error { return w.answer(hostA) }, "authority 127.0.0.1"},
		"the cache keeps nothing":       {LocalOptions{}, CacheOld, func(w *localWorld) error { w.cache.Forget(); return nil }, "authority 127.0.0.2, cache 127.0.0.2, 1s left"},
		"the connection is closed":      {LocalOptions{}, KeptOld, func(w *localWorld) error { return w.a.Break(lab.Refuse) }, "the connection ended by server"},
		"the connection is new":         {LocalOptions{}, KeptOld, func(w *localWorld) error { return errors.Join(w.a.Break(lab.Refuse), w.a.Mend()) }, "the connection ended by server"},
		"the certificate is right":      {LocalOptions{TLS: true}, Refused, func(w *localWorld) error { w.b.Show(w.right); return nil }, "B at 127.0.0.2"},
		"B does not listen":             {LocalOptions{TLS: true}, Refused, func(w *localWorld) error { return w.b.Break(lab.Refuse) }, "127.0.0.2 connect/refused"},
		"B is down":                     {LocalOptions{}, NewAtB, func(w *localWorld) error { return w.b.Break(lab.Refuse) }, "127.0.0.2 connect/refused"},
	}, func(name string, c drama) {
		timeline, err := playOn(c.options, func(w *localWorld, event Event) {
			if event == c.before {
				if err := c.do(w); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
		if err != nil || timeline.Held() {
			t.Errorf("%s: %v, %+v", name, err, timeline)
		}
		broken := false
		for _, row := range timeline.Rows {
			broken = broken || row.Event == c.before
			if row.Held == broken || row.Reached != (row.Held || row.Event == c.before) {
				t.Errorf("%s: %+v", name, row)
			}
			if row.Event == c.before && !strings.Contains(row.Seen, c.instead) {
				t.Errorf("%s: seen %q, want %q", name, row.Seen, c.instead)
			}
		}
	})
}

// playIn plays in a new world, which before each row something is done to.
func playIn(o LocalOptions, before func(*localWorld, Event)) (*Timeline, error) {
	w, err := newLocalWorld(o, localTTL)
	if err != nil {
		return &Timeline{}, err
	}
	timeline := w.timeline()
	err = w.play(context.Background(), timeline, func(event Event) { before(w, event) })
	return timeline, errors.Join(err, w.close())
}

// playOn plays until the machine did not stand still.
func playOn(o LocalOptions, before func(*localWorld, Event)) (timeline *Timeline, err error) {
	for range maxAttempts {
		if timeline, err = playIn(o, before); !errors.Is(err, errStoodStill) {
			break
		}
	}
	return timeline, err
}

// TestLocalBeginsAnew stands still for longer than the cache keeps anything, at the
// two moments that must not be missed: it is not taken for a cache that keeps
// nothing.
func TestLocalBeginsAnew(t *testing.T) {
	t.Parallel()
	stall := func() { time.Sleep((localTTL + 1) * time.Second) }
	var all sync.WaitGroup
	all.Go(func() {
		times := 0
		timeline, err := Local(context.Background(), LocalOptions{Progress: func(event Event) {
			if event == CacheOld && times == 0 {
				times++
				stall()
			}
		}})
		if err != nil || !timeline.Held() || timeline.Attempts < 2 {
			t.Errorf("%v, %+v", err, timeline)
		}
	})
	for _, missed := range []Event{CacheOld, NegativeOld} {
		all.Go(func() {
			timeline, err := playIn(LocalOptions{}, func(_ *localWorld, event Event) {
				if event == missed {
					stall()
				}
			})
			if !errors.Is(err, errStoodStill) {
				t.Errorf("%s: %v, %+v", missed, err, timeline)
			}
		})
	}
	all.Wait()
}

func TestLocalIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Local(ctx, LocalOptions{Progress: func(event Event) {
		if event == CacheNew {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
