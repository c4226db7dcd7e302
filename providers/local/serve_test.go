package local

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// safeBuffer is a log that is read while it is written.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// served is an adapter whose file is served for the length of a test.
func served(t *testing.T, text string) (path string, a *Adapter, log *safeBuffer) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "zone")
	settled(t, path, text)
	log = &safeBuffer{}
	a, err := build(provider.Settings{
		Zone:    zone,
		Options: map[string]string{"file": path, "listen": "127.0.0.1:0"},
		Logger:  slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
		if servers := a.Servers(); len(servers) != 0 {
			t.Errorf("servers after the end: %v", servers)
		}
	})
	within(t, "the server listens", func() bool { return len(a.Servers()) == 1 })
	return path, a, log
}

func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still not so: %s", what)
		}
	}
}

// ask answers a question at the adapter's server.
func ask(t *testing.T, a *Adapter, name string, kind uint16) (rcode int, values []string) {
	t.Helper()
	client := dns.Client{Timeout: 30 * time.Second}
	reply, _, err := client.Exchange(new(dns.Msg).SetQuestion(name, kind), a.Servers()[0])
	if err != nil {
		t.Errorf("ask %s: %v", name, err)
		return dns.RcodeServerFailure, nil
	}
	for _, rr := range reply.Answer {
		values = append(values, dataOf(rr))
	}
	slices.Sort(values)
	return reply.Rcode, values
}

// TestCase77NeverEmptyWhileSwitching: asked without a pause, the served zone
// answers in every moment of many swaps and failovers, and a write is to be
// seen as soon as it has returned.
func TestCase77NeverEmptyWhileSwitching(t *testing.T) {
	_, a, _ := served(t, soaAndNS+"www 60 A 192.0.2.10\nalias 60 CNAME dc1.example.net.\n")
	stop := make(chan struct{})
	var sampler sync.WaitGroup
	sampler.Go(func() {
		for {
			for name, kind := range map[string]uint16{"www.example.com.": dns.TypeA, "alias.example.com.": dns.TypeCNAME} {
				if rcode, values := ask(t, a, name, kind); rcode != dns.RcodeSuccess || len(values) == 0 {
					t.Errorf("%s answered %s %v", name, dns.RcodeToString[rcode], values)
				}
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	defer sampler.Wait()
	defer close(stop)
	for i := range 30 {
		from, to := i%2, (i+1)%2
		failover(t, a, []string{"192.0.2.10", "203.0.113.10"}[from], []string{"192.0.2.10", "203.0.113.10"}[to])
		swapAlias(t, a, []string{"dc1.example.net.", "dc2.example.net."}[from], []string{"dc1.example.net.", "dc2.example.net."}[to])
	}
}

func failover(t *testing.T, a *Adapter, from, to string) {
	t.Helper()
	www := keyOf("www", record.A)
	seen := list(t, a)
	action := record.Resume
	if _, found := seen.Set(www).Find(to); !found {
		action = record.Create
	}
	err := a.TakeAway(t.Context(), provider.Call{
		Key: www, Seen: seen, Next: provider.Stamp{Nonce: seen.Version},
		Add:  []record.Change{{Action: action, Key: www, Value: to, TTL: time.Minute}},
		Away: []record.Change{{Action: record.Pause, Key: www, Value: from}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, values := ask(t, a, "www.example.com.", dns.TypeA); !slices.Equal(values, []string{to}) {
		t.Fatalf("right after the write www is %v, want %s", values, to)
	}
}

func swapAlias(t *testing.T, a *Adapter, from, to string) {
	t.Helper()
	alias := keyOf("alias", record.CNAME)
	seen := list(t, a)
	err := a.TakeAway(t.Context(), provider.Call{
		Key: alias, Seen: seen, Next: provider.Stamp{Nonce: seen.Version},
		Away: []record.Change{{Action: record.Swap, Key: alias, From: from, Value: to}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, values := ask(t, a, "alias.example.com.", dns.TypeCNAME); !slices.Equal(values, []string{to}) {
		t.Fatalf("right after the write alias is %v, want %s", values, to)
	}
}

// TestServeTakesUpOthersEdits, but not one that cannot be served: then the last
// good zone stays, and that is said once.
func TestServeTakesUpOthersEdits(t *testing.T) {
	path, a, log := served(t, twoAnswers)
	www := func() string {
		_, values := ask(t, a, "www.example.com.", dns.TypeA)
		return strings.Join(values, " ")
	}
	within(t, "the file is served", func() bool { return www() == "192.0.2.1 192.0.2.2" })
	settled(t, path, twoAnswers+"www A 192.0.2.3\n")
	within(t, "an edit by hand is served", func() bool { return www() == "192.0.2.1 192.0.2.2 192.0.2.3" })
	other := adapterFor(t, path)
	if err := other.TakeAway(t.Context(), pauseCall(list(t, other), "192.0.2.1", "192.0.2.2", "1")); err != nil {
		t.Fatal(err)
	}
	within(t, "another process's edit is served", func() bool { return www() == "192.0.2.2 192.0.2.3" })
	for text, complaint := range map[string]string{
		soaAndNS + "www A (\n": "never closed",
		"":                     "no SOA",
		soaAndNS + "www A 1.2.3.4\nwww CNAME x\n": "CNAME",
	} {
		settled(t, path, text)
		within(t, "the trouble is said", func() bool { return strings.Contains(log.String(), complaint) })
		if got := www(); got != "192.0.2.2 192.0.2.3" {
			t.Errorf("with a bad file www is %q", got)
		}
	}
	said := strings.Count(log.String(), "level=ERROR")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	within(t, "the trouble is said", func() bool { return strings.Contains(log.String(), "no such file") })
	a.refresh(t.Context(), "") // as the poll does, but with a short memory
	if got := strings.Count(log.String(), "level=ERROR"); got > said+2 {
		t.Errorf("one trouble was said %d times", got-said)
	}
	settled(t, path, twoAnswers)
	within(t, "the mended file is served", func() bool { return www() == "192.0.2.1 192.0.2.2" })
}

// TestWriteOfWhatCannotBeServed is refused as long as the zone is served.
func TestWriteOfWhatCannotBeServed(t *testing.T) {
	text := strings.Replace(twoAnswers, "NS ns.example.net.", "TXT x", 1)
	path, a, _ := served(t, text)
	err := a.TakeAway(t.Context(), pauseCall(list(t, a), "192.0.2.1", "192.0.2.2", "1"))
	if provider.ClassOf(err) != provider.Permanent || !strings.Contains(err.Error(), "no NS") || contentOf(t, path) != text {
		t.Errorf("got %v", err)
	}
}

func TestServeWithoutAnAddressOnlyWaits(t *testing.T) {
	_, a := newZoneFile(t, twoAnswers)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Serve(ctx); err != nil || a.Servers() != nil {
		t.Errorf("got %v, servers %v", err, a.Servers())
	}
}

func TestServeRefusesATakenAddress(t *testing.T) {
	_, a, _ := served(t, twoAnswers)
	b, err := build(provider.Settings{Zone: zone, Options: map[string]string{"file": "x", "listen": a.Servers()[0]}})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Serve(t.Context()); provider.ClassOf(err) != provider.Permanent {
		t.Errorf("expected a permanent error, got %v", err)
	}
}
