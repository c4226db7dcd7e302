package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/clock"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/lease"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// world is everything around a daemon: zones, targets, a disk, a clock.
type world struct {
	*testing.T
	clock  clock.Clock
	config *config.Config
	zones  map[record.Name]*memory.Zone
	site   *site
	log    *logBook
}

const home = record.Name("example.com.")

var www = record.Key{Zone: home, Name: "www.example.com.", Type: record.A}

// a and b are the answers of www.
const (
	a = "192.0.2.10"
	b = "192.0.2.20"
)

// class is a zone whose provider compares and swaps, and open is one whose
// calls may come ten seconds late.
var (
	class = memory.Options{Class: memory.Exact}
	open  = memory.Options{Class: memory.Status, Late: 10 * time.Second}
)

// bubbled runs a test in a bubble of virtual time.
func bubbled(t *testing.T, run func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, run)
}

// newWorld makes a zone in which www answers with a and b, both of which are
// alive: a failover pair with a hold of five minutes.
func newWorld(t *testing.T, options memory.Options) *world {
	t.Helper()
	w := &world{
		T: t, clock: clock.Bubble(), zones: map[record.Name]*memory.Zone{}, site: newSite(), log: &logBook{},
		config: &config.Config{
			File:  "sidestep.yaml",
			Node:  config.Node{Name: "mon-1"},
			State: config.State{Dir: filepath.Join(memoryDir(t), "state"), MaxAge: 15 * time.Minute},
			Leader: config.Leader{
				Lock: config.LockFile,
			},
			Reconcile: config.Reconcile{Debounce: time.Second, Every: 5 * time.Minute, RetryBase: time.Second, RetryMax: 30 * time.Second},
			Checks: map[string]*check.Spec{"web": {
				Name: "web", Kind: check.KindTCP, TCP: &check.TCP{Port: 443},
				Interval: 10 * time.Second, Timeout: 5 * time.Second, Fall: 3, Rise: 3,
			}},
		},
	}
	w.addZone(home, options)
	w.addSet(&steer.Spec{
		Key: www, TTL: time.Minute, Policy: steer.Priority, MaxLive: 1, MinLive: 1, OnAllDown: steer.Keep,
		Failback: steer.Failback{Hold: 5 * time.Minute},
	}, a, b)
	return w
}

// memoryDir is a temporary directory in memory where there is one: days of
// virtual time are thousands of saves, each of which waits for the disk twice.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "sidestep-test-") //nolint:usetesting // on purpose elsewhere
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (w *world) addZone(name record.Name, options memory.Options) *memory.Zone {
	options.Now = w.clock.Boot
	zone := memory.NewZone(name, options)
	w.zones[name] = zone
	w.config.Zones = append(w.config.Zones, config.Zone{Name: name, Provider: "memory", Settings: provider.Settings{Zone: name}})
	return zone
}

// addSet adds a record set of which the first value is live.
func (w *world) addSet(spec *steer.Spec, values ...string) {
	w.Helper()
	spec.Checks = []string{"web"}
	for _, value := range values {
		spec.Answers = append(spec.Answers, steer.Answer{Value: value, Probe: value})
	}
	w.config.Records = append(w.config.Records, spec)
	if err := w.zones[spec.Key.Zone].EditByHand(memory.Put(string(spec.Key.Name), string(spec.Key.Type), time.Minute, values[0])); err != nil {
		w.Fatal(err)
	}
}

func (w *world) options() Options {
	return Options{
		Config: w.config, Logger: slog.New(w.log), Clock: w.clock, Probe: w.site.probe, Write: true,
		Registry: provider.Registry{"memory": func(s provider.Settings) (provider.Adapter, error) {
			return w.zones[s.Zone].Adapter(w.config.Node.Name), nil
		}},
	}
}

// running is a daemon that runs.
type running struct {
	*Daemon
	w    *world
	stop context.CancelFunc
	done chan struct{}
	err  error
}

// run starts a daemon; it is stopped when the test ends.
func (w *world) run(change ...func(*Options)) *running {
	w.Helper()
	options := w.options()
	for _, do := range change {
		do(&options)
	}
	d, err := New(options)
	if err != nil {
		w.Fatal(err)
	}
	return w.start(d)
}

// runUnder is the same with a lease that the config knows nothing of, until it has settled.
func (w *world) runUnder(l lease.Lease) *running {
	w.Helper()
	d, err := New(w.options())
	if err != nil {
		w.Fatal(err)
	}
	d.leader.lease = l
	r := w.start(d)
	time.Sleep(settled)
	return r
}

func (w *world) start(d *Daemon) *running {
	ctx, stop := context.WithCancel(context.Background())
	r := &running{Daemon: d, w: w, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = d.Run(ctx)
	}()
	w.Cleanup(r.end)
	return r
}

// end stops the daemon in order.
func (r *running) end() {
	r.stop()
	<-r.done
}

// kill ends the daemon as SIGKILL would: with the state directory as it is
// now, and without another call to a provider.
func (r *running) kill() {
	r.w.Helper()
	kept := filepath.Join(r.w.TempDir(), "state")
	if err := os.CopyFS(kept, os.DirFS(r.w.config.State.Dir)); err != nil {
		r.w.Fatal(err)
	}
	for _, zone := range r.w.zones {
		zone.Faults(func(memory.Op, int) memory.Fault { return memory.Fault{Kind: memory.Refused} })
	}
	r.end()
	for _, zone := range r.w.zones {
		zone.Faults(nil)
	}
	copied := *r.w.config
	copied.State.Dir = kept
	r.w.config = &copied
}

// status is what the daemon says of itself.
func (r *running) status() control.Status {
	r.w.Helper()
	status, err := r.Status(context.Background(), "")
	if err != nil {
		r.w.Fatal(err)
	}
	return status
}

func (w *world) mustLive(want ...string) {
	w.Helper()
	if live := w.zones[home].Live(www); !slices.Equal(live, want) {
		w.Errorf("www answers with %v, want %v", live, want)
	}
}

// writes lists what adapters did to the record sets of a zone: claims and
// proofs are not counted.
func (w *world) writes(zone record.Name) []memory.Version {
	var list []memory.Version
	for _, v := range w.zones[zone].History() {
		if v.Cause.Call != nil {
			list = append(list, v)
		}
	}
	return list
}

// when is the time of a version.
func (w *world) when(v memory.Version) time.Time {
	return time.Now().Add(v.At - w.clock.Boot())
}

// touched reports whether any adapter changed anything in any zone.
func (w *world) touched() bool {
	for _, zone := range w.zones {
		for _, v := range zone.History() {
			if v.Cause.Op != "" {
				return true
			}
		}
	}
	return false
}

// journal reads the lines of a kind.
func (w *world) journal(kind string) []map[string]any {
	w.Helper()
	file, err := os.Open(filepath.Join(w.config.State.Dir, "journal.jsonl"))
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var list []map[string]any
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var line map[string]any
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			w.Fatal(err)
		}
		if line["kind"] == kind {
			list = append(list, line)
		}
	}
	return list
}

// files is the content of everything below a directory; empty when there is
// none.
func (w *world) files(dir string) map[string]string {
	w.Helper()
	list := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		list[path] = string(content)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		w.Fatal(err)
	}
	return list
}

// site is the targets: which of them answer.
type site struct {
	mu     sync.Mutex
	down   map[string]check.Cause
	script map[string][]check.Outcome // what comes next, before down matters
	failed map[string][]time.Time     // when the failures of an address came back
}

func newSite() *site {
	return &site{
		down: map[string]check.Cause{}, script: map[string][]check.Outcome{}, failed: map[string][]time.Time{},
	}
}

func (s *site) fail(addresses ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, address := range addresses {
		s.down[address] = check.CauseRefused
	}
}

func (s *site) heal(addresses ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, address := range addresses {
		delete(s.down, address)
	}
}

// play says what the next probes of an address find: S passes, F fails, ? is
// our own fault.
func (s *site) play(address, letters string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, letter := range letters {
		s.script[address] = append(s.script[address], map[rune]check.Outcome{'S': check.Pass, 'F': check.Fail, '?': check.Unknown}[letter])
	}
}

// failures are the times at which failures of an address came back.
func (s *site) failures(address string) []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.failed[address])
}

func (s *site) probe(_ context.Context, _ *check.Spec, address string) check.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	outcome := check.Pass
	if _, down := s.down[address]; down {
		outcome = check.Fail
	}
	if script := s.script[address]; len(script) > 0 {
		outcome, s.script[address] = script[0], script[1:]
	}
	switch outcome {
	case check.Fail:
		s.failed[address] = append(s.failed[address], time.Now())
		return check.Result{Outcome: check.Fail, Phase: check.PhaseConnect, Cause: check.CauseRefused, Detail: "connection refused"}
	case check.Unknown:
		return check.Result{Outcome: check.Unknown, Cause: check.CauseLocal, Detail: "no route"}
	default:
		return check.Result{Outcome: check.Pass}
	}
}

// logBook keeps the lines of a log.
type logBook struct {
	mu    sync.Mutex
	lines []string
}

func (l *logBook) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (l *logBook) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *logBook) WithGroup(string) slog.Handler                    { return l }

func (l *logBook) Handle(_ context.Context, r slog.Record) error {
	line := r.Level.String() + " " + r.Message
	r.Attrs(func(attr slog.Attr) bool {
		line += fmt.Sprintf(" %s=%v", attr.Key, attr.Value)
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	return nil
}

// with lists the lines that contain a word.
func (l *logBook) with(word string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []string
	for _, line := range l.lines {
		if strings.Contains(line, word) {
			list = append(list, line)
		}
	}
	return list
}
