package drill

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sidestep/pkg/observe"
	"sidestep/pkg/record"
)

// Event is what a row of the local timeline is about; the words are stable.
type Event string

// The events of the local drill, in their order.
const (
	AuthorityNew   Event = "authority-new"       // the answer changed at the authority
	CacheOld       Event = "cache-old"           // and the cache has the old one still
	CacheNew       Event = "cache-new"           // until its TTL is over
	KeptOld        Event = "kept-old"            // which moves no open connection
	Refused        Event = "certificate-refused" // a replacement with a wrong certificate is none; over TLS
	NewAtB         Event = "new-connection-new"  // once the idle connection is retired, the next one is at B
	NegativeCached Event = "negative-cached"     // that the name is gone is kept as well
	NegativeOld    Event = "negative-old"        // also when it is back
	Recovered      Event = "recovered"           // until the negative TTL is over
)

// LocalOptions choose what Local plays; the zero value is the reference: eight
// rows over HTTP/1.1.
type LocalOptions struct {
	HTTP2 bool // over TLS, as browsers speak it
	TLS   bool // with the row in which a certificate is refused; HTTP/1.1 unless HTTP2
	// Progress is told which event is waited for; nil for nobody.
	Progress func(Event)
}

// Row is one event of the timeline.
type Row struct {
	Event   Event
	What    string        // in words
	Reached bool          // false: a row before it did not hold, and it was not played
	Held    bool          // it came, when everything before it had come
	Seen    string        // by which that was seen; of a row that did not hold, what was seen instead
	At      time.Duration // when it was seen, since the answer changed
}

// Timeline is what Local saw.
type Timeline struct {
	Name     record.Name
	A, B     string // addresses before and after
	Protocol string // HTTP/1.1, HTTP/2.0
	TLS      bool
	TTL      time.Duration
	Negative time.Duration // the TTL of negative answers
	Rows     []Row
	Attempts int // more than one: this machine stood still for longer than a TTL
}

// Held reports whether every event came, and in this order.
func (t *Timeline) Held() bool {
	for _, r := range t.Rows {
		if !r.Held {
			return false
		}
	}
	return len(t.Rows) > 0
}

const (
	maxAttempts = 20
	rowWithin   = 15 * time.Second // how long what has to come is waited for
	askEvery    = 10 * time.Millisecond
)

// Local plays the reference experiment on loopback: the answer of a name moves from
// one web server to another, and then the name goes and comes back. It takes about
// three TTLs of a second. An error says that it could not be played; that an event
// did not come is told by the timeline.
//
// What a cache holds for a second can only be seen within it. Where this machine
// stood still for longer, the experiment begins anew.
func Local(ctx context.Context, o LocalOptions) (*Timeline, error) {
	for n := 1; ; n++ {
		timeline, err := playLocal(ctx, o, localTTL)
		switch {
		case err == nil:
			timeline.Attempts = n
			return timeline, nil
		case !errors.Is(err, errStoodStill) || n == maxAttempts || ctx.Err() != nil:
			return nil, fmt.Errorf("drill on loopback: %w", err)
		}
	}
}

// errStoodStill says that a moment was missed which lasts a TTL.
var errStoodStill = errors.New("this machine stood still for longer than a TTL; try again when it is less busy")

// playLocal plays it once.
func playLocal(ctx context.Context, o LocalOptions, ttl int) (timeline *Timeline, err error) {
	w, err := newLocalWorld(o, ttl)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	timeline = w.timeline()
	return timeline, w.play(ctx, timeline, o.Progress)
}

// localStep is one row that is to come.
type localStep struct {
	event Event
	what  string
	see   func(*localPlay, context.Context) (seen string, err error)
}

// notSeenError says that something else was seen than has to be.
type notSeenError struct{ seen string }

func (e *notSeenError) Error() string { return "seen instead: " + e.seen }

func insteadf(format string, args ...any) error { return &notSeenError{fmt.Sprintf(format, args...)} }

// localPlay is what a step hands on to the next.
type localPlay struct {
	*localWorld

	all    *observe.Watcher // looks at names, and makes requests
	names  *observe.Watcher // looks at names alone
	opened time.Time        // the connection that is kept, at A
	primed time.Time        // when the cache was asked last for what it is to keep
}

// steps are the rows in their order.
func (w *localWorld) steps() []localStep {
	steps := []localStep{
		{AuthorityNew, "the answer changed at the authority", (*localPlay).authorityNew},
		{CacheOld, "the cache still has the old one", (*localPlay).cacheOld},
		{CacheNew, "the cache has the new one: the TTL is over", (*localPlay).cacheNew},
		{KeptOld, "the kept connection is still at A", (*localPlay).keptOld},
		{NewAtB, "idle, it is retired; the new connection is at B", (*localPlay).newAtB},
		{NegativeCached, "the name is taken away; the cache keeps NXDOMAIN", (*localPlay).negativeCached},
		{NegativeOld, "the name is repaired; the cache says NXDOMAIN still", (*localPlay).negativeOld},
		{Recovered, "the negative TTL is over; a new connection is at B", (*localPlay).recovered},
	}
	if w.refuses {
		refused := localStep{Refused, "B shows a certificate of another name: refused", (*localPlay).refused}
		steps = append(steps[:4], append([]localStep{refused}, steps[4:]...)...)
	}
	return steps
}
