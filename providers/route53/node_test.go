package route53

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
	"sidestep/providers/route53/route53test"
)

const (
	one   = "203.0.113.1"
	two   = "203.0.113.2"
	three = "192.0.2.30"
	ttl   = 60 * time.Second
)

func create(k record.Key, value string) record.Change {
	return record.Change{Action: record.Create, Key: k, Value: value, TTL: ttl}
}

func pause(k record.Key, value string) record.Change {
	return record.Change{Action: record.Pause, Key: k, Value: value}
}

func resume(k record.Key, value string) record.Change {
	return record.Change{Action: record.Resume, Key: k, Value: value}
}

func put(h *route53test.Hand, k record.Key, values ...string) {
	for _, v := range values {
		h.Put(providertest.RR{Name: string(k.Name), Type: string(k.Type), TTL: ttl, Data: v})
	}
}

// node is a holder that writes from a fresh list each time.
type node struct {
	t testing.TB
	a *Adapter
	n int
}

func newNode(t testing.TB, a *Adapter) *node {
	t.Helper()
	n := &node{t: t, a: a, n: 1}
	holder(t, a)
	return n
}

// call is one that rests on a fresh list.
func (n *node) call(k record.Key, changes ...record.Change) provider.Call {
	n.t.Helper()
	n.n++
	call := provider.Call{Key: k, Seen: list(n.t, n.a), Next: stamp(n.n)}
	for _, c := range changes {
		if c.Action.Add() {
			call.Add = append(call.Add, c)
		} else {
			call.Away = append(call.Away, c)
		}
	}
	return call
}

func (n *node) send(call provider.Call) error {
	n.t.Helper()
	write := n.a.Add
	if len(call.Away) > 0 {
		write = n.a.TakeAway
	}
	return write(n.t.Context(), call)
}

func (n *node) write(k record.Key, changes ...record.Change) error {
	n.t.Helper()
	return n.send(n.call(k, changes...))
}

func (n *node) must(k record.Key, changes ...record.Change) {
	n.t.Helper()
	if err := n.write(k, changes...); err != nil {
		n.t.Fatalf("%v: %v", changes, err)
	}
}

// empty pauses what may leave nothing.
func (n *node) empty(k record.Key, changes ...record.Change) {
	n.t.Helper()
	call := n.call(k, changes...)
	call.Empty = true
	if err := n.send(call); err != nil {
		n.t.Fatalf("%v: %v", changes, err)
	}
}

// posts counts the requests that would change the zone.
func posts(f *route53test.Fake) int {
	count := 0
	for _, r := range f.Server.Requests() {
		if r.Method == http.MethodPost {
			count++
		}
	}
	return count
}

// fails checks an error's class, and that its text has certain words.
func fails(t testing.TB, err error, class provider.Class, words ...string) *provider.Error {
	t.Helper()
	var e *provider.Error
	if !errors.As(err, &e) {
		t.Fatalf("expected a *provider.Error of class %v about %q, got %v", class, words, err)
	}
	if e.Class != class {
		t.Errorf("expected class %v, got %v: %v", class, e.Class, e)
	}
	for _, w := range words {
		if !strings.Contains(e.Error(), w) {
			t.Errorf("expected the words %q in %q", w, e)
		}
	}
	if strings.Contains(e.Error(), "\n") || strings.Contains(e.Error(), route53test.SecretKey) {
		t.Errorf("expected one line without a secret, got %q", e)
	}
	return e
}

// others are the attributes of everything but the stamp.
func others(f *route53test.Fake) []string {
	return slices.DeleteFunc(f.Attributes(), func(l string) bool { return strings.HasPrefix(l, provider.StampLabel+".") })
}
