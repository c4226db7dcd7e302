package local

import (
	"path/filepath"
	"runtime"
	"testing"

	"sidestep/pkg/provider"
)

// A file is read once for the list and the write that follows it, and what was
// written is not read again for the next list. What another hand wrote is, and
// nothing is kept alive by it.
func TestFileIsReadOnce(t *testing.T) {
	h := hand{t, filepath.Join(t.TempDir(), "zone")}
	h.write(soaAndNS + "www 60 IN A 192.0.2.1\n")
	built, err := build(provider.Settings{Zone: zone, Options: map[string]string{"file": h.path}})
	if err != nil {
		t.Fatal(err)
	}
	list := func() *provider.Snapshot {
		t.Helper()
		snapshot, err := built.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return snapshot
	}
	first := list()
	if again := list(); again.Native != first.Native {
		t.Error("the same file was read twice")
	}
	if err := built.Claim(t.Context(), first, provider.Stamp{Holder: "n", Nonce: "1"}, nil); err != nil {
		t.Fatal(err)
	}
	written := built.recall.wrote
	second := list()
	if second.Native == first.Native || second.Native != any(written) {
		t.Error("what was written was read again, or is not what is listed")
	}
	h.write(h.read() + "api 60 IN A 192.0.2.2\n")
	third := list()
	if third.Native == second.Native || third.Records != second.Records+1 {
		t.Errorf("another hand's record is not listed: %d records, %d before", third.Records, second.Records)
	}
	runtime.KeepAlive([]*provider.Snapshot{first, second})
	text := h.read()
	runtime.KeepAlive(third)
	first, second, third = nil, nil, nil
	runtime.GC()
	if built.recall.find(text) != nil {
		t.Error("a document is kept that nobody works with")
	}
}
