package local

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// BenchmarkTakeAway takes one of two answers out of one record set after the
// other of a zone of 2,000, with a list between two calls, as a reconciler does
// when a site falls. An iteration is one list and one call.
func BenchmarkTakeAway(b *testing.B) {
	const sets = 2000
	var text strings.Builder
	text.WriteString(soaAndNS)
	for i := range sets {
		fmt.Fprintf(&text, "h%d 60 IN A 192.0.2.1\nh%d 60 IN A 192.0.2.2\n", i, i)
	}
	h := hand{b, filepath.Join(b.TempDir(), "zone")}
	h.write(text.String())
	a, err := New(provider.Settings{Zone: zone, Options: map[string]string{"file": h.path, "listen": "127.0.0.1:0"}})
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		snapshot, err := a.List(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		key := record.Key{Zone: zone, Name: zone.Below(fmt.Sprintf("h%d", i%sets)), Type: record.A}
		if i >= sets {
			b.Fatal("more iterations than record sets")
		}
		nonce := fmt.Sprint("nonce", i)
		err = a.TakeAway(b.Context(), provider.Call{
			Key: key, Seen: snapshot, Survivors: []string{"192.0.2.2"}, Next: provider.Stamp{Holder: "bench", Nonce: nonce, At: time.Now()},
			Away: []record.Change{{Action: record.Pause, Key: key, Value: "192.0.2.1", TTL: time.Minute}},
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
