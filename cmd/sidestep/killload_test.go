package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/lab"
	"sidestep/pkg/store"
)

// kills is how often TestKilledUnderLoad kills; SIDESTEP_KILLS says otherwise.
const kills = 50

// TestKilledUnderLoad kills a daemon that has much to do, as a power cut would,
// at random moments: while verdicts change ten times a second, zones are written,
// and persons say something. Every file can be read afterwards, no line of the
// journal is broken, and each word that was confirmed is there.
func TestKilledUnderLoad(t *testing.T) {
	t.Parallel()
	rounds := kills
	if text := os.Getenv("SIDESTEP_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("SIDESTEP_KILLS: %v", err)
		}
		rounds = n
	}
	b := newBusy(t)
	seed := time.Now().UnixNano()
	random := rand.New(rand.NewPCG(uint64(seed), 0)) //nolint:gosec // moments, no secrets
	t.Logf("moments by seed %d", seed)
	for round := range rounds {
		b.live(time.Duration(random.IntN(500)) * time.Millisecond)
		if b.opens(round); t.Failed() {
			return
		}
	}
	t.Logf("%d kills, %d words confirmed, %d lines in the journal", rounds, b.words, b.lines)
	if b.words < rounds {
		t.Errorf("%d words were confirmed, expected one for each kill at least", b.words)
	}
}

// busy is a daemon with many targets, of which a part changes all the time.
type busy struct {
	*world

	words int            // that were confirmed
	last  map[string]int // by target, the last of them
	lines int            // of the journal
}

const (
	busySets    = 20
	busyAnswers = 5
)

func newBusy(t *testing.T) *busy {
	t.Helper()
	b := &busy{world: &world{t: t, dir: shortDir(t)}, last: map[string]int{}}
	b.startBackends(1)
	_, port, _ := strings.Cut(b.backends[0].Addr(), ":")
	b.config = filepath.Join(b.dir, "sidestep.yaml")
	zone, records := zoneText, ""
	for set := range busySets {
		var answers []string
		for answer := range busyAnswers {
			value := ip(b.backends[0]) // the one that changes
			if answer > 0 {
				value = fmt.Sprintf("127.1.%d.%d", set, answer) // nobody listens
			}
			answers = append(answers, value)
			zone += fmt.Sprintf("n%d 60 IN A %s\n", set, value)
		}
		records += fmt.Sprintf("  - {name: n%d.example.com, check: web, answers: [%s]}\n", set, strings.Join(answers, ", "))
	}
	config := fmt.Sprintf(`node: {name: mon-1}
state: {dir: %[1]s/state}
control: {socket: %[1]s/c.sock}
reconcile: {debounce: 10ms}
adopt: auto
guard: {mass: 0, max_writes: 0}
zones: [{zone: example.com, provider: local, file: %[1]s/zone, listen: ""}]
checks:
  web: {http: {url: "http://www.example.com:%[2]s/healthz"}, interval: 100ms, timeout: 90ms, fall: 1, rise: 1}
records:
%[3]s`, b.dir, port, records)
	for path, text := range map[string]string{b.config: config, filepath.Join(b.dir, "zone"): zone} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// live runs the daemon until it confirmed a word, and for a while more.
func (b *busy) live(more time.Duration) {
	b.t.Helper()
	p := b.run()
	ctx, cancel := context.WithCancel(b.t.Context())
	spoken, confirmed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(spoken)
		b.speak(ctx, confirmed)
	}()
	select {
	case <-confirmed:
	case <-p.done:
		b.t.Errorf("sidestep ended by itself: %v", p.err)
	case <-time.After(patience):
		b.t.Errorf("no word was confirmed within %v", patience)
	}
	time.Sleep(more) // the moment is the point
	p.kill()
	cancel()
	<-spoken
	if text := p.log.String(); strings.Contains(text, "cannot be used") || strings.Contains(text, "panic") {
		b.t.Errorf("the state was not found whole:\n%s", text)
	}
}

// speak drains one set after the other and lets the backend die and come back,
// until ctx ends or the daemon is gone.
func (b *busy) speak(ctx context.Context, confirmed chan<- struct{}) {
	first := true
	for n := b.words + 1; ctx.Err() == nil; n++ {
		client, err := control.Dial(ctx, b.socket())
		if err != nil {
			time.Sleep(5 * time.Millisecond)
			n--
			continue
		}
		target := fmt.Sprintf("n%d.example.com", n%busySets)
		_, err = client.Override(ctx, control.OverrideRequest{Kind: "drain", Target: target, For: "10h", Reason: strconv.Itoa(n)})
		if err != nil {
			if !first {
				return // killed
			}
			time.Sleep(5 * time.Millisecond) // not the leader yet
			n--
			continue
		}
		b.words, b.last[target] = n, n
		if first {
			first = false
			close(confirmed)
		}
		b.breakOrMend(n)
	}
}

func (b *busy) breakOrMend(n int) {
	do := b.backends[0].Mend
	if n%2 == 0 {
		do = func() error { return b.backends[0].Break(lab.Refuse) }
	}
	if err := do(); err != nil {
		b.t.Errorf("%v", err)
	}
}

// opens reads what the killed daemon left, as the next one will.
func (b *busy) opens(round int) {
	b.t.Helper()
	s, loaded, err := store.Open(b.state(), store.Options{Now: time.Now, ReadOnly: true})
	if err != nil || loaded.Status != store.Fresh {
		b.t.Errorf("round %d: the state is %v (%s), error %v", round, loaded.Status, loaded.Reason, err)
		return
	}
	lines := 0
	skipped, err := s.Read(store.Filter{}, func(store.Line) bool { lines++; return true })
	if err != nil || skipped > 0 || lines < b.lines {
		b.t.Errorf("round %d: the journal has %d lines (%d before), %d of them broken, error %v", round, lines, b.lines, skipped, err)
	}
	b.lines = lines
	for target, n := range b.last {
		if !b.remembers(string(loaded.Payload), target, n) {
			b.t.Errorf("round %d: word %d about %s was confirmed, and is not in the state", round, n, target)
		}
	}
	if corrupt, _ := filepath.Glob(filepath.Join(b.state(), "*corrupt*")); len(corrupt) > 0 {
		b.t.Errorf("round %d: corrupt files: %v", round, corrupt)
	}
}

// remembers reports whether a state has a word of a person, or a later one that
// was not confirmed any more.
func (b *busy) remembers(state, target string, n int) bool {
	for later := n; later <= b.words+busySets; later += busySets {
		if strings.Contains(state, fmt.Sprintf(`"reason":"%d"`, later)) {
			return true
		}
	}
	return false
}
