package daemon

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sidestep/pkg/cluster"
	"sidestep/pkg/engine"
	"sidestep/pkg/lease"
	"sidestep/pkg/override"
)

func wordsOf(view engine.View) []override.Override {
	var words []override.Override
	for _, o := range view.Words {
		words = append(words, o.Override)
	}
	return words
}

// takeWords brings this node's words of persons to what all nodes share. A word ends
// by its time, which every node knows, or because a person took it back; never
// because others do not know it. An end that this node heard once holds for it,
// whatever etcd says after it was restored from an old backup.
func (d *Daemon) takeWords(words []override.Override, ends []cluster.End) {
	d.ask(func(e *engine.Engine) { d.hearWords(e, words, ends) })
	if !isClosed(d.told) {
		close(d.told)
	}
}

// hearFirst takes up what persons said until the lease was won: false when it, or ctx,
// ended before that was read.
func (d *Daemon) hearFirst(ctx context.Context, held lease.Held) bool {
	for {
		words, ends, err := d.nodes.Words(ctx)
		d.errors.note("hear what persons said, before this node leads", err)
		if err == nil {
			d.ask(func(e *engine.Engine) { d.hearWords(e, words, ends) })
			return true
		}
		d.leader.set(nil, fmt.Errorf("%w: %w", errUntold, err))
		if held.Gate(0) != nil || !wait(ctx, retryLease) {
			return false
		}
	}
}

// hearWords belongs to the loop.
func (d *Daemon) hearWords(e *engine.Engine, words []override.Override, ends []cluster.End) {
	mine, now := wordsOf(e.View(d.now())), d.clock.Wall()
	d.ends = cluster.Remember(d.ends, ends, words, now) // before a step saves it
	for _, end := range ends {
		i := slices.IndexFunc(mine, end.Override.Same)
		if i >= 0 && !mine[i].Said.After(end.At) {
			d.lookSoonAtAll()
			d.step(engine.Clear{Target: end.Override.Target, Kind: end.Override.Kind, By: end.By})
		}
	}
	for _, o := range words {
		i := slices.IndexFunc(mine, o.Same)
		if o.Over(now) || endedBy(d.ends, o) || i >= 0 && (sameWord(mine[i], o) || mine[i].Said.After(o.Said)) {
			continue
		}
		d.lookSoonAtAll()
		effects := d.step(engine.Override{Override: o})
		d.errors.note(fmt.Sprintf("take up the %s of %s from another node", o.Kind, o.Shown()), effects.Err)
	}
}

// sameWord reports whether two nodes have the same word of a person: times are the
// same instant, in whatever zone.
func sameWord(a, b override.Override) bool {
	return a.Same(b) && a.By == b.By && a.Reason == b.Reason && slices.Equal(a.Values, b.Values) &&
		a.Said.Equal(b.Said) && a.From.Equal(b.From) && a.Until.Equal(b.Until)
}

// shareWord lets every node know of a person's word, before this one acts on it. The
// error is why they could not be told: they are once etcd answers.
func (d *Daemon) shareWord(ctx context.Context, o override.Override) (revision int64, err error) {
	err = d.share(func() (err error) {
		revision, err = d.nodes.Put(ctx, o)
		return err
	})
	return revision, err
}

// share tells the other nodes something. A command that is not among them does not
// try: it has found out just now that etcd does not answer.
func (d *Daemon) share(tell func() error) error {
	err := d.notJoined()
	if err == nil {
		err = tell()
	}
	switch {
	case err != nil && d.options.Once:
		return fmt.Errorf("the other nodes are told by the next command here, or by sidestep run, when etcd answers: %w", err)
	case err != nil:
		return fmt.Errorf("the other nodes are told when etcd answers: %w", err)
	}
	return nil
}

// notJoined is why a command is not among the nodes; nil when it is, and in a daemon.
func (d *Daemon) notJoined() (err error) {
	if d.options.Once {
		d.ask(func(*engine.Engine) { err = d.cutOff() })
	}
	return err
}

// saidAfter is when a person says a word now: whatever the clock of the node says where
// something was said about the same before, or taken back, it is after that. Else
// other nodes would go by that. It belongs to the loop.
func (d *Daemon) saidAfter(e *engine.Engine, word override.Override) time.Time {
	said := word.Said
	for _, o := range wordsOf(e.View(d.now())) {
		if o.Same(word) && !o.Said.Before(said) {
			said = o.Said.Add(time.Nanosecond)
		}
	}
	for _, end := range d.ends {
		if end.Override.Same(word) && !end.At.Before(said) {
			said = end.At.Add(time.Nanosecond)
		}
	}
	return said
}

// endsOf are the ends of words that a person takes back now. Whatever the clock of
// the node says where a word was said, its end is not before it.
func endsOf(words []override.Override, now time.Time, by string) []cluster.End {
	ends := make([]cluster.End, len(words))
	for i, o := range words {
		ends[i] = cluster.End{Override: o, At: now, By: by}
		if o.Said.After(now) {
			ends[i].At = o.Said
		}
	}
	return ends
}

// shareEnds lets every node know that words were taken back. On an error they hold at
// this node alone, which brings them when etcd answers.
func (d *Daemon) shareEnds(ctx context.Context, ends []cluster.End) (revision int64, err error) {
	for _, e := range ends {
		err := d.share(func() (err error) {
			revision, err = d.nodes.Clear(ctx, e)
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return revision, nil
}

// endedBy reports whether one of the ends is of this word, and not of one before it.
func endedBy(ends []cluster.End, o override.Override) bool {
	return slices.ContainsFunc(ends, func(e cluster.End) bool { return e.Override.Same(o) && !o.Said.After(e.At) })
}
