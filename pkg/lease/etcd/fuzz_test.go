package etcd

import (
	"testing"
	"unicode/utf8"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// FuzzReadEntry reads any value as the entry of another node. None may be taken for
// one that does not say who it is, and every message about one can be printed.
func FuzzReadEntry(f *testing.F) {
	f.Add([]byte(`{"version":1,"node":"a","host":"h","pid":1,"since":"2026-01-02T03:04:05Z","ttl":15,"zones":["example.com."]}`))
	f.Add([]byte(`{"version":2,"node":"a"}`))
	f.Add([]byte(`{"version":1,"node":"a","ttl":1e300}`))
	f.Add([]byte("三三三三三三三三三三三三三三三三三"))
	f.Fuzz(func(t *testing.T, value []byte) {
		e, err := readEntry(&mvccpb.KeyValue{Key: []byte("/sidestep/leader/1"), Value: value})
		if err != nil {
			if utf8.Valid(value) && !utf8.ValidString(err.Error()) {
				t.Errorf("a message that is no text: %q", err)
			}
			return
		}
		if e.Node == "" || e.Version != entryVersion {
			t.Errorf("%q was taken for an entry: %+v", value, e)
		}
		_ = e.String()
		if err := e.stranger([]string{"example.com."}, "/sidestep/"); err != nil && len(e.Zones) == 0 {
			t.Errorf("an entry without zones is a stranger: %v", err)
		}
	})
}
