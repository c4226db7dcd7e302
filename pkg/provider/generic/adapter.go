package generic

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/libdns/libdns"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

var (
	_ provider.Inspector = (*Adapter)(nil)
	_ provider.Releaser  = (*Adapter)(nil)
)

// What is assumed of an API that nothing is known of.
const (
	defaultLate = 5 * time.Minute  // a call that was given up may still take effect
	defaultLag  = time.Minute      // a list may show the past
	defaultCall = 30 * time.Second // a library makes several requests for one call
	copyTTL     = time.Minute      // of a parked copy, where the provider keeps it
	createTTL   = 5 * time.Minute  // of a value that neither the config nor a sibling gives one
)

// Library is what a libdns module has to have.
type Library interface {
	libdns.RecordGetter
	libdns.RecordAppender
	libdns.RecordDeleter
}

// Known is what is known of a module beforehand. The zero value is for one of
// which nothing is known.
type Known struct {
	Name   string        // the provider's name in the config, for errors
	Quoted bool          // TXT goes in the quotes of a zone file, both ways
	OneTTL bool          // a set has one TTL: what is appended gives its own to all
	MinTTL time.Duration // smallest TTL that is kept as given
	Call   time.Duration // the deadline of one call; 0 is 30 s

	// Status is the HTTP status that an error of the library tells, 0 for none.
	// Nil tells none.
	Status func(error) int

	// Settled says that the request which changes the zone is the last of a
	// call: a refusal then means that nothing has happened.
	Settled bool
}

// Adapter edits one zone through a library. Make one with New. List may be
// called by several goroutines at once.
type Adapter struct {
	zone    record.Name
	library Library
	known   Known
	late    time.Duration
	lag     time.Duration
	secrets []provider.Secret // of the zone's settings, which an error may repeat
	limiter *provider.Limiter // asked once for each call of the library
	now     func() time.Time

	mu      sync.Mutex
	records int       // how many the last list had
	empty   time.Time // since when lists are empty where nothing was known; zero when none did
	strays  int       // calls that were given up and have not come back
	open    int       // those of them that can change the zone
}

// New makes the adapter of one zone over a library that is ready to be called.
// Late and Lag of the settings override what is assumed.
func New(s provider.Settings, library Library, known Known) *Adapter {
	return &Adapter{
		zone: s.Zone, library: library, known: known, limiter: s.Limiter, now: time.Now, secrets: slices.Collect(maps.Values(s.Secrets)),
		late: cmp.Or(s.Late, defaultLate), lag: cmp.Or(s.Lag, defaultLag),
	}
}

// Promises are few: nothing is atomic, and nothing is compared.
func (a *Adapter) Promises() provider.Promises {
	return provider.Promises{
		Pause: provider.PauseParked, OneByOne: true,
		Late: a.late, Lag: a.lag, Call: cmp.Or(a.known.Call, defaultCall), MinTTL: a.known.MinTTL,
	}
}

// List asks the library for the whole zone.
func (a *Adapter) List(ctx context.Context) (*provider.Snapshot, error) {
	entries, err := a.fetch(ctx)
	if err != nil {
		return nil, err
	}
	return a.snapshot(entries), nil
}

// fetch lists the zone and believes no list that lost something: an empty one
// where there were records, or one that is shorter than the last and does not
// come back when it is asked for again.
func (a *Adapter) fetch(ctx context.Context) ([]entry, error) {
	first, err := a.get(ctx)
	if err != nil {
		return nil, err
	}
	last := a.remembered()
	switch {
	case len(first) == 0 && last > 0:
		return nil, a.lost("expected the %d records that the last list had, got none", last)
	case len(first) > 0 && len(first) >= last:
		a.remember(len(first))
		return first, nil
	case len(first) == 0:
		if err := a.doubtEmpty(ctx); err != nil {
			return nil, err
		}
	}
	second, err := a.get(ctx)
	if err != nil {
		return nil, err
	}
	if !covers(second, first) || len(first) == 0 && len(second) > 0 {
		return nil, a.lost("two lists in a row differ: %d records, then %d, where there were %d", len(first), len(second), last)
	}
	a.remember(len(second))
	return second, nil
}

// patience is how long a call may wait in place for a list that can be believed.
const patience = 5 * time.Second

// doubtEmpty does not believe that a zone has no record at all when nothing is
// known of it yet: an API that is out of order answers so too, and the zone of
// another account. It is believed when a list that cannot be of the same moment,
// the lag later, says so again.
func (a *Adapter) doubtEmpty(ctx context.Context) error {
	a.mu.Lock()
	if a.empty.IsZero() {
		a.empty = a.now()
	}
	wait := a.lag - a.now().Sub(a.empty)
	a.mu.Unlock()
	switch {
	case wait <= 0:
		return nil
	case wait <= patience:
		if err := provider.Sleep(ctx, wait); err != nil {
			return &provider.Error{Class: provider.Retryable, Op: a.op("list zone", string(a.zone)), Code: "empty list", Err: err}
		}
		return nil
	}
	return &provider.Error{
		Class: provider.Retryable, Op: a.op("list zone", string(a.zone)), Code: "empty list", After: wait,
		Err:  fmt.Errorf("expected records, got none; it is believed when a list in %v says so again", wait.Round(time.Second)),
		Hint: "see whether the credential is of the account that has the zone; if the zone is new, put any record into it at the provider, a TXT will do",
	}
}

func (a *Adapter) lost(format string, args ...any) error {
	return &provider.Error{
		Class: provider.Retryable, Op: a.op("list zone", string(a.zone)), Code: "short list", Err: fmt.Errorf(format, args...),
		Hint: "nothing is written until a list is whole; if the zone was emptied on purpose, restart sidestep",
	}
}

func (a *Adapter) remembered() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.records
}

func (a *Adapter) remember(records int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.records = records
}

// forgetOne expects one record less from now on.
func (a *Adapter) forgetOne() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.records = max(1, a.records-1)
}

// op says what is attempted, and by which provider.
func (a *Adapter) op(what, of string) string {
	text := what + " " + of
	if a.known.Name != "" {
		text += " by " + a.known.Name
	}
	return text
}

// get is one call of the library.
func (a *Adapter) get(ctx context.Context) ([]entry, error) {
	return guarded(ctx, a, attempt{op: a.op("list zone", string(a.zone))}, func(ctx context.Context) ([]entry, error) {
		records, err := a.library.GetRecords(ctx, string(a.zone))
		if err != nil {
			return nil, err
		}
		return entriesOf(records)
	})
}

// Inspect lists the zone, which is all that every library can be asked.
func (a *Adapter) Inspect(ctx context.Context) ([]string, error) {
	entries, err := a.fetch(ctx)
	if err != nil {
		return nil, err
	}
	seen := a.snapshot(entries)
	form := "as plain text"
	if viewOf(seen).quoted {
		form = "in quotes"
	}
	return []string{
		fmt.Sprintf("the credential lists zone %s: %d records; whether it may edit them is seen at the first write", a.zone, seen.Records),
		fmt.Sprintf("reduced promises: nothing is atomic or fenced, TTLs stay as they are, CNAMEs are not switched; texts are written %s", form),
	}, nil
}
