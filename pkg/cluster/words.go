package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"sidestep/pkg/override"
)

// wordOrRubbish is the value of an override's key.
type wordOrRubbish struct {
	override.Override

	rubbish bool
}

// begun is the key that says that words are shared already: from then on what is
// not in etcd was cleared.
func (c *Cluster) begun() string { return c.opts.Prefix + "begun" }

func (c *Cluster) wordsAt(kind override.Kind, target string) string {
	return c.opts.Prefix + "overrides/" + wordKey(kind, target)
}

// shareWords brings the words that this node knows where no node has brought any
// before.
func (s *session) shareWords(ctx context.Context) error {
	ops := []clientv3.Op{clientv3.OpPut(s.begun(), s.opts.Node)}
	for _, o := range s.opts.Local() {
		value, err := json.Marshal(word{wireVersion, o})
		if err != nil {
			return err
		}
		ops = append(ops, clientv3.OpPut(s.wordsAt(o.Kind, o.Target), string(value)))
	}
	const most = 100 // etcd takes 128 in one request
	for chunk := range slices.Chunk(ops[1:], most) {
		if err := s.firstWords(ctx, chunk); err != nil {
			return err
		}
	}
	return s.firstWords(ctx, ops[:1])
}

func (s *session) firstWords(ctx context.Context, ops []clientv3.Op) error {
	return s.within(ctx, "share what persons said", func(ctx context.Context) error {
		_, err := s.client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(s.begun()), "=", 0)).Then(ops...).Commit()
		return err
	})
}

// takeWord takes what a person said at some node, or took back.
func (s *session) takeWord(name string, kv *mvccpb.KeyValue, gone bool) {
	defer func() { s.newWords = true }()
	if gone {
		delete(s.words, name)
		return
	}
	w, err := read(kv.Value, func(w word) int { return w.Version })
	if err == nil {
		err = w.Override.Validate()
	}
	if err != nil {
		s.opts.Logger.Warn("what a person said at another node cannot be read; it counts for nothing here", "key", string(kv.Key), "error", err)
	}
	s.words[name] = wordOrRubbish{w.Override, err != nil}
}

// said lists the words, by target and kind.
func (s *session) said() []override.Override {
	var list []override.Override
	for _, w := range s.words {
		if !w.rubbish {
			list = append(list, w.Override)
		}
	}
	slices.SortFunc(list, func(a, b override.Override) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}

// Put shares what a person said. Every node hears it, this one too: Overrides is
// called with it. On an error nobody may have heard.
func (c *Cluster) Put(ctx context.Context, o override.Override) error {
	value, err := json.Marshal(word{wireVersion, o})
	if err != nil {
		return fmt.Errorf("share what a person said: %w", err)
	}
	client, err := c.opts.Etcd.Client()
	if err != nil {
		return c.opts.Etcd.Explain("share what a person said", err)
	}
	return c.within(ctx, "share what a person said", func(ctx context.Context) error {
		_, err := client.Put(ctx, c.wordsAt(o.Kind, o.Target), string(value))
		return err
	})
}

// Clear takes words about a target back, at every node: those of one kind, or of
// all when it is empty.
func (c *Cluster) Clear(ctx context.Context, target string, kind override.Kind) error {
	client, err := c.opts.Etcd.Client()
	if err != nil {
		return c.opts.Etcd.Explain("share what a person took back", err)
	}
	kinds := []override.Kind{kind}
	if kind == "" {
		kinds = override.Kinds
	}
	var ops []clientv3.Op
	for _, k := range kinds {
		ops = append(ops, clientv3.OpDelete(c.wordsAt(k, target)))
	}
	return c.within(ctx, "share what a person took back", func(ctx context.Context) error {
		_, err := client.Txn(ctx).Then(ops...).Commit()
		return err
	})
}
