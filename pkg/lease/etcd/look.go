package etcd

import (
	"context"
	"fmt"

	"sidestep/pkg/lease"
)

// Description is what an etcd is as a lock, and who leads.
type Description struct {
	Words string
	Term  lease.Term // without an epoch: what leaderships by this lock have in common
	Nodes []string   // who leads, and who waits in turn
}

// Describe asks the etcd what it is and who leads, and queues for nothing. The error
// is the one that an Acquire would find.
func (l *Lease) Describe(ctx context.Context) (Description, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.connect(); err != nil {
		return Description{}, l.explain("sign in", err)
	}
	if err := l.checkVersion(ctx); err != nil {
		return Description{}, err
	}
	entries, _, err := l.list(ctx)
	if err != nil {
		return Description{}, err
	}
	if err := l.acquainted(entries); err != nil {
		return Description{}, err
	}
	out := Description{Term: lease.Term{Cluster: l.cluster, Group: group(l.opts.Prefix)}}
	for _, e := range entries {
		out.Nodes = append(out.Nodes, e.Node)
	}
	out.Words = fmt.Sprintf("etcd %s at %s", l.version, l.opts.Way.at())
	switch n := len(entries); n {
	case 0:
		out.Words += ": nobody leads"
	case 1:
		out.Words += fmt.Sprintf(": led by %s", entries[0])
	default:
		out.Words += fmt.Sprintf(": led by %s, %d waiting", entries[0], n-1)
	}
	return out, nil
}
