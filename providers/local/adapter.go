package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"time"

	"sidestep/pkg/authority"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// callDeadline bounds one call: waiting for the lock is the long part of it.
const callDeadline = 10 * time.Second

// Adapter edits, and may serve, one zone file. Make one with New. Its methods
// may be called by any number of goroutines at once.
type Adapter struct {
	zone   record.Name
	path   string // as it is configured
	listen string // ADDR:PORT; empty serves nothing
	late   time.Duration
	lag    time.Duration
	log    *slog.Logger
	now    func() time.Time

	recall  recall
	showing sync.Mutex // held from reading the file to serving it, and taken before mu

	mu     sync.Mutex        // guards what follows
	shown  identity          // the file as it is served
	server *authority.Server // while Serve runs, after it listens
}

// The adapter is all of these.
var (
	_ provider.Fencer        = (*Adapter)(nil)
	_ provider.Server        = (*Adapter)(nil)
	_ provider.Authoritative = (*Adapter)(nil)
	_ provider.Checker       = (*Adapter)(nil)
)

// New makes the adapter of one zone. Its options are file (the path of an RFC
// 1035 zone file) and listen (ADDR:PORT for UDP and TCP, port 0 for a free one;
// empty edits the file only). It opens nothing.
func New(s provider.Settings) (provider.Adapter, error) {
	a, err := build(s)
	if err != nil {
		return nil, &provider.Error{Class: provider.Permanent, Op: fmt.Sprintf("configure local for zone %s", s.Zone), Err: err}
	}
	return a, nil
}

func build(s provider.Settings) (*Adapter, error) {
	a := &Adapter{zone: s.Zone, path: s.Options["file"], listen: s.Options["listen"], late: s.Late, lag: s.Lag, log: s.Logger, now: time.Now}
	if a.path == "" {
		return nil, errors.New("file: expected the path of a zone file, got nothing")
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if a.listen == "" {
		return a, nil
	}
	host, port, err := net.SplitHostPort(a.listen)
	if err != nil {
		return nil, fmt.Errorf("listen: expected ADDR:PORT: %w", err)
	}
	if _, err := netip.ParseAddr(host); err != nil {
		return nil, fmt.Errorf("listen: %q: expected an address: %w", a.listen, err)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, fmt.Errorf("listen: %q: expected a port from 0 to 65535: %w", a.listen, err)
	}
	return a, nil
}

// Check sees that there is a file, and that this process may read it.
func (a *Adapter) Check() error {
	f, err := os.Open(a.path)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("file: %w; try as the user that sidestep runs as, or as root", err)
	}
	if err != nil {
		return fmt.Errorf("file: %w; put a zone file there, with its SOA and NS records, or name another", err)
	}
	return f.Close()
}

// Promises of a file: a rename is all or nothing, done when the call returns,
// and seen by the next read.
func (a *Adapter) Promises() provider.Promises {
	p := provider.Promises{
		Pause:  provider.PauseParked,
		Atomic: true,
		Fenced: true,
		Single: true,
		Late:   a.late,
		Lag:    a.lag,
		Call:   callDeadline,
	}
	if a.listen != "" {
		p.Publish = pollEvery
	}
	return p
}

// List reads the file.
func (a *Adapter) List(ctx context.Context) (*provider.Snapshot, error) {
	doc, _, err := a.load(ctx)
	if err != nil {
		return nil, a.failed("list", err)
	}
	return doc.snapshot(), nil
}

// Add makes values live.
func (a *Adapter) Add(ctx context.Context, call provider.Call) error {
	op := fmt.Sprintf("add to %s in", call.Key)
	if len(call.Away) > 0 {
		return a.failed(op, failf(provider.Permanent, "an add that takes something away"))
	}
	return a.write(ctx, op, call)
}

// TakeAway parks values, adds what rides along, and rewrites, in one step.
func (a *Adapter) TakeAway(ctx context.Context, call provider.Call) error {
	return a.write(ctx, fmt.Sprintf("change %s in", call.Key), call)
}

func (a *Adapter) write(ctx context.Context, op string, call provider.Call) error {
	if err := checkCall(a.zone, call); err != nil {
		return a.failed(op, err)
	}
	return a.edit(ctx, op, call.Gate, func(doc *document) (*draft, error) {
		if err := checkSeen(doc, call); err != nil {
			return nil, err
		}
		d := doc.draft()
		return d, apply(d, call)
	})
}

// Claim replaces the stamps.
func (a *Adapter) Claim(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	const op = "claim"
	switch {
	case seen == nil:
		return a.failed(op, failf(provider.Permanent, "a claim that rests on no list"))
	case next.Nonce == "":
		return a.failed(op, failf(provider.Permanent, "a claim without a stamp"))
	}
	return a.edit(ctx, op, gate, func(doc *document) (*draft, error) {
		if err := checkStamps(doc, seen); err != nil {
			return nil, err
		}
		d := doc.draft()
		return d, d.stamp(next)
	})
}

// Prove claims from a view that cannot be true.
func (a *Adapter) Prove(ctx context.Context, seen *provider.Snapshot, next provider.Stamp, gate provider.Gate) error {
	if seen == nil {
		return a.failed("prove", failf(provider.Permanent, "a proof that rests on no list"))
	}
	forged := *seen
	forged.Stamps = []provider.Stamp{{Raw: "v=1 holder=nobody nonce=never-" + next.Nonce}}
	err := a.Claim(ctx, &forged, next, gate)
	switch {
	case err == nil:
		return provider.ErrNotFenced
	case provider.ClassOf(err) == provider.FencedOut:
		return nil
	}
	return err
}

// load reads and parses the file.
func (a *Adapter) load(ctx context.Context) (*document, source, error) {
	if err := ctx.Err(); err != nil {
		return nil, source{}, failf(provider.Retryable, "%w", err)
	}
	src, err := readFile(ctx, a.path)
	if err != nil {
		return nil, source{}, err
	}
	doc, err := a.parse(src)
	return doc, src, err
}

func (a *Adapter) parse(src source) (*document, error) {
	if doc := a.recall.find(src.text); doc != nil {
		return doc, nil
	}
	doc, err := parse(a.zone, src.text)
	if err != nil {
		return nil, failf(provider.Permanent, "%w", err)
	}
	a.recall.read(doc)
	return doc, nil
}

// edit replaces the file by what change makes of it, with the next serial. An
// error of the gate comes back as it is.
func (a *Adapter) edit(ctx context.Context, op string, gate provider.Gate, change func(*document) (*draft, error)) error {
	if err := ctx.Err(); err != nil {
		return a.failed(op, failf(provider.Retryable, "%w", err))
	}
	if gate != nil {
		if err := gate(); err != nil {
			return err
		}
	}
	return a.failed(op, a.editLocked(ctx, change))
}

func (a *Adapter) editLocked(ctx context.Context, change func(*document) (*draft, error)) error {
	src, held, err := openLocked(ctx, a.path)
	if err != nil {
		return err
	}
	defer held.release()
	doc, err := a.parse(src)
	if err != nil {
		return err
	}
	if doc.signed() {
		return failf(provider.Permanent, "the file holds signatures, which an edit would break; let the name server sign the zone instead")
	}
	draft, err := change(doc)
	if err != nil || draft == nil {
		return err
	}
	next, zone, err := a.finish(draft, doc.serial())
	if err != nil {
		return err
	}
	id, err := replaceFile(ctx, held, src, next.text)
	if err == nil {
		a.recall.written(next)
		a.wrote(id, zone)
	}
	return err
}

// finish gives a draft its serial and makes the next file of it, and the zone
// that is served then, nil without an address to listen on.
func (a *Adapter) finish(d *draft, serial uint32) (*document, *authority.Zone, error) {
	err := d.setSerial(nextSerial(serial, a.now()))
	if err != nil {
		return nil, nil, failf(provider.Permanent, "%w", err)
	}
	doc, err := d.finish()
	if err == nil && len(doc.text) > maxFile {
		err = fmt.Errorf("the file would be longer than %d octets", maxFile)
	}
	var zone *authority.Zone
	if err == nil && a.listen != "" {
		zone, err = a.zoneOf(doc)
	}
	if err != nil {
		return nil, nil, failf(provider.Permanent, "%w", err)
	}
	return doc, zone, nil
}
