package cluster

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzRead decodes any value that may stand under the prefix in etcd, as each kind of
// value there is. What is read can be written and is then read as the same.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"version":1,"node":"a","vantage":"home","host":"h","pid":1,"instance":"x","since":"2026-01-02T03:04:05Z","config":"00","release":"dev","count":7}`))
	f.Add([]byte(`{"version":1,"said":[["web","192.0.2.1","down","connect","refused","1767323045"],["web","192.0.2.2","sideways","","","-"]]}`))
	f.Add([]byte(`{"version":1,"override":{"kind":"drain","target":"192.0.2.1","reason":"work","by":"alice","said":"2026-01-02T03:04:05Z"},"cleared":{"at":"2026-01-02T03:04:06Z","by":"bob"}}`))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(`{"version":1,"said":[[]]}`))
	f.Add([]byte("\xff"))
	f.Fuzz(func(t *testing.T, value []byte) {
		again(t, value, func(b beat) int { return b.Version })
		again(t, value, func(y yesValue) int { return y.Version })
		again(t, value, func(a answerValue) int { return a.Version })
		again(t, value, func(f forgotten) int { return f.Version })
		if w, ok := again(t, value, func(w word) int { return w.Version }); ok {
			if w.after(w) {
				t.Errorf("a word that holds against itself: %+v", w)
			}
			_ = w.Override.Validate()
		}
		list, ok := again(t, value, func(s shard) int { return s.Version })
		if !ok {
			return
		}
		for _, s := range list.Said {
			o, err := s.observation()
			if err != nil {
				continue
			}
			if back, err := wordOf(o).observation(); err != nil || back != o {
				t.Errorf("%q was read as %+v, written and read again as %+v (%v)", s, o, back, err)
			}
		}
	})
}

func again[T any](t *testing.T, value []byte, version func(T) int) (T, bool) {
	t.Helper()
	v, err := read(value, version)
	if err != nil {
		return v, false
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%+v cannot be written: %v", v, err)
	}
	back, err := read(data, version)
	if err != nil || !reflect.DeepEqual(back, v) {
		t.Errorf("%q was read as %+v, written and read again as %+v (%v)", value, v, back, err)
	}
	return v, true
}
