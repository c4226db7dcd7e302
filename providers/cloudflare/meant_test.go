package cloudflare

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/providers/cloudflare/cloudflaretest"
)

// TestAnEditBetweenListAndBatchIsTold: somebody gives a record another content
// after the list, and the batch, which goes by its id, does to the new content
// what was meant for the old.
func TestAnEditBetweenListAndBatchIsTold(t *testing.T) {
	const edited = "198.51.100.7"
	pause := []record.Change{{Action: record.Pause, Key: wwwA, Value: "192.0.2.10"}}
	ttl := []record.Change{{Action: record.SetTTL, Key: wwwA, Value: "192.0.2.10", TTL: 2 * time.Minute}}
	for name, row := range map[string]struct {
		value string // whose record is edited
		away  []record.Change
		at    string // where it is afterwards
	}{
		"the paused one": {"192.0.2.10", pause, "_sidestep-paused.www.example.com"},
		"a survivor":     {"192.0.2.20", pause, "www.example.com"},
		"the TTL":        {"192.0.2.10", ttl, "www.example.com"},
	} {
		f, n := world(t)
		var log bytes.Buffer
		n.log = slog.New(slog.NewTextHandler(&log, nil))
		call := provider.Call{Key: wwwA, Seen: n.list(), Next: n.next(), Away: row.away, Survivors: []string{"192.0.2.20"}}
		f.Patch(t, "www.example.com", "A", row.value, func(r *cloudflaretest.Record) { r.Content = edited })
		wantClass(t, name, n.TakeAway(t.Context(), call), provider.Ambiguous, edited, row.value, row.at, "dashboard")
		if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), edited) {
			t.Errorf("%s: no warning names it: %q", name, log.String())
		}
		if n.After(call) != nil {
			t.Errorf("%s: the zone after it is taken for known", name)
		}
	}
}

// TestADeletedEditIsTold: the alias that a pause takes out had become another.
func TestADeletedEditIsTold(t *testing.T) {
	f, n := world(t)
	f.Put(t, cloudflaretest.Record{Name: "alias", Type: "CNAME", Content: "a.example.net", TTL: 300})
	call := provider.Call{
		Key: aliasC, Seen: n.list(), Next: n.next(), Empty: true,
		Away: []record.Change{{Action: record.Pause, Key: aliasC, Value: "a.example.net."}},
	}
	f.Patch(t, "alias.example.com", "CNAME", "a.example.net", func(r *cloudflaretest.Record) { r.Content = "b.example.net" })
	wantClass(t, "pause", n.TakeAway(t.Context(), call), provider.Ambiguous, "b.example.net", "is deleted")
}

// TestAnotherSpellingIsNoEdit: the answer may spell a content otherwise than the
// list did, or not show it.
func TestAnotherSpellingIsNoEdit(t *testing.T) {
	six := &entry{wire: wire{Type: "AAAA", Content: "2001:db8::1"}, value: "2001:db8::1"}
	alias := &entry{wire: wire{Type: "CNAME", Content: "a.example.net"}, value: "a.example.net."}
	text := &entry{wire: wire{Type: "TXT", Content: `"v=1 x"`}, text: "v=1 x"}
	for _, row := range []struct {
		e   *entry
		now string
		yes bool
	}{
		{six, "2001:DB8:0::1", false},
		{six, "", false},
		{six, "2001:db8::2", true},
		{six, "nonsense", true},
		{alias, "A.example.net.", false},
		{alias, "b.example.net", true},
		{text, "v=1 x", false},
		{text, `"v=1 y"`, true},
	} {
		if got := row.e.edited(row.now); got != row.yes {
			t.Errorf("%s as %q: edited %v", row.e.Content, row.now, got)
		}
	}
}
