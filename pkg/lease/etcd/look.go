package etcd

import (
	"context"
	"fmt"
)

// Describe asks the etcd what it is and who leads, in words, and queues for
// nothing. The error is the one that an Acquire would find.
func (l *Lease) Describe(ctx context.Context) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.connect(); err != nil {
		return "", l.explain("sign in", err)
	}
	if err := l.checkVersion(ctx); err != nil {
		return "", err
	}
	entries, _, err := l.list(ctx)
	if err != nil {
		return "", err
	}
	if err := l.acquainted(entries); err != nil {
		return "", err
	}
	text := fmt.Sprintf("etcd %s at %s", l.version, l.opts.Way.at())
	switch n := len(entries); n {
	case 0:
		return text + ": nobody leads", nil
	case 1:
		return fmt.Sprintf("%s: led by %s", text, entries[0]), nil
	default:
		return fmt.Sprintf("%s: led by %s, %d waiting", text, entries[0], n-1), nil
	}
}
