package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidestep/pkg/authority/authoritytest"
	"sidestep/pkg/control"
	"sidestep/pkg/lab"
	"sidestep/pkg/observe"
	"sidestep/pkg/record"
)

// drillWorld is a daemon that serves app.example.com, which is at the first of two
// web servers, and a cache before it.
type drillWorld struct {
	t        *testing.T
	dir      string
	dns      string
	cache    *lab.Cache
	backends []*lab.Backend
}

func newDrillWorld(t *testing.T) *drillWorld {
	t.Helper()
	list, err := startLab(2)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range list {
		t.Cleanup(func() { _ = b.Close() })
	}
	port, err := dnsPort()
	if err != nil {
		t.Fatal(err)
	}
	w := &drillWorld{t: t, dir: shortDir(t), dns: fmt.Sprintf("127.0.0.1:%d", port), backends: list}
	_, web, err := net.SplitHostPort(list[0].Addr())
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, w.dir, map[string]string{
		"example.com.zone": "$ORIGIN example.com.\n@ 60 IN SOA ns1 h 1 60 60 60 1\n@ 60 IN NS ns1\napp 1 IN A " + hostOf(list[0]) + "\n",
		"sidestep.yaml": fmt.Sprintf(`node: {name: mon-1}
state: {dir: state}
control: {socket: c.sock}
reconcile: {debounce: 100ms}
adopt: auto
guard: {max_writes: 0}
zones: [{zone: example.com, provider: local, file: example.com.zone, listen: "%s"}]
checks: {web: {http: {url: "http://app.example.com:%s/healthz"}, interval: 1s, timeout: 900ms, fall: 3, rise: 1}}
records:
  - name: app.example.com
    ttl: 1s
    policy: priority
    check: web
    answers: [%s, %s]
    failback: {mode: auto, hold: 500ms}
`, w.dns, web, hostOf(list[0]), hostOf(list[1]))})
	start(t, w.dir, "run")
	w.cache = lab.NewCache(w.dns)
	if err := w.cache.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	w.serve(w.cache.Serve)
	w.settle()
	return w
}

// serve runs a name server until the test ends.
func (w *drillWorld) serve(run func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- run(ctx) }()
	w.t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			w.t.Error(err)
		}
	})
}

// drill is the command line of a rehearsal.
func (w *drillWorld) drill(more ...string) []string {
	return append([]string{"drill", "app", "--resolver", w.cache.Addr(), "--identity", "header:" + lab.IdentityHeader}, more...)
}

func (w *drillWorld) status() (status control.Status, answer []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client, err := control.Dial(ctx, filepath.Join(w.dir, "c.sock"))
	if err != nil {
		return control.Status{}, nil
	}
	status, err = client.Status(ctx, "")
	if err != nil {
		return control.Status{}, nil
	}
	found, err := observe.Ask(ctx, w.dns, "app.example.com.", record.A)
	if err != nil {
		return control.Status{}, nil
	}
	return status, found.Values
}

func (w *drillWorld) wait(what string, happened func(status control.Status, answer []string) bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); !happened(w.status()); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("waited %s for %s", patience, what)
		}
	}
}

// settle waits until everything is up, nothing is overruled and the name is at the
// first server, for longer than a debounce.
func (w *drillWorld) settle() {
	w.t.Helper()
	times := 0
	w.wait("the daemon to be settled", func(status control.Status, answer []string) bool {
		times++
		if status.Leader.State != "leader" || len(status.Overrides) > 0 || !slices.Equal(answer, []string{hostOf(w.backends[0])}) ||
			len(status.Records[0].Pending) > 0 || status.Records[0].HoldEnds != nil ||
			slices.ContainsFunc(status.Targets, func(target control.Target) bool { return target.Verdict != "up" }) {
			times = 0
		}
		return times >= 10
	})
	if w.cache != nil {
		w.cache.Forget()
	}
}

// TestREADMEDrill rehearses as the README shows, and prints what it shows but for
// the addresses and times.
func TestREADMEDrill(t *testing.T) {
	t.Parallel()
	w := newDrillWorld(t)
	code, out, errOut := sidestepIn(t, w.dir, w.drill()...)
	if code != 0 || !strings.HasPrefix(errOut, "config: ./sidestep.yaml\nway out: written moved after ") || !strings.Contains(errOut, "\nway back: kept moved after ") {
		t.Fatalf("exited with %d:\n%s%s", code, out, errOut)
	}
	block := between(t, readme(t), "    $ sidestep drill app --identity header:X-Backend", "\nIt refuses where that would hurt, takes the drain back whatever happens, and says")
	same := strings.NewReplacer(
		hostOf(w.backends[0]), "IP1", hostOf(w.backends[1]), "IP2", "203.0.113.10", "IP1", "203.0.113.20", "IP2",
		"authoritative "+w.dns, "authoritative NS", "authoritative ns1.example.com 192.0.2.53", "authoritative NS",
		"resolver "+w.cache.Addr(), "resolver R", "resolver 192.0.2.1", "resolver R",
	)
	timeless := func(text string) string {
		text = regexp.MustCompile(`(?m)^of the .* were a wait: .*\n`).ReplaceAllString(text, "") // the hold, where a look saw it
		text = regexp.MustCompile(`\b\d+(\.\d+)?m?s\b`).ReplaceAllString(same.Replace(text), "TIME")
		return words(regexp.MustCompile(`\b\d+ requests`).ReplaceAllString(text, "N requests"))
	}
	if got, want := timeless(out), timeless(block); !strings.HasPrefix(got, want+" not tested: - ") {
		t.Errorf("it says\n%s\nthe README shows\n%s", out, block)
	}

	code, out, errOut = sidestepIn(t, w.dir, w.drill("--json")...)
	var answer struct {
		Held bool
		Ways []struct {
			Way    string
			Clocks []struct {
				Clock string
				Moved bool
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || code != 0 || !answer.Held || len(answer.Ways) != 2 {
		t.Fatalf("exited with %d, %v:\n%s%s", code, err, out, errOut)
	}
	for _, way := range answer.Ways {
		var clocks []string
		for _, c := range way.Clocks {
			clocks = append(clocks, c.Clock)
		}
		if got := strings.Join(clocks, " "); got != "written authoritative resolver new kept" {
			t.Errorf("way %s has the clocks %s", way.Way, got)
		}
	}
	wantShape(t, "drill", out)
	if code, out, errOut = sidestepIn(t, w.dir, w.drill("--dry-run", "--json")...); code != 0 || !strings.Contains(out, `"dry_run": true`) {
		t.Errorf("--dry-run exited with %d:\n%s%s", code, out, errOut)
	}
	w.settle()
}

// wantShape wants JSON of a shape.
func wantShape(t *testing.T, name, text string) {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Error(err)
	}
	for _, wrong := range misfits(name, shapes[name], value) {
		t.Errorf("%s in\n%s", wrong, text)
	}
}

// stubborn is a resolver that goes on with the first server whatever the zone says, so
// that a rehearsal does not come to its end.
func (w *drillWorld) stubborn() string {
	w.t.Helper()
	return authoritytest.Start(w.t, "example.com.", "@ 60 IN SOA ns1 h 1 60 60 60 1\n@ 60 IN NS ns1\napp 1 IN A "+hostOf(w.backends[0])+"\n").Addr()
}

// TestDrillEnds ends a rehearsal on its way out, in order and by force. The name is
// back by itself, and no override is left.
func TestDrillEnds(t *testing.T) {
	t.Parallel()
	w := newDrillWorld(t)
	stubborn := w.stubborn()
	for _, c := range []struct {
		signal syscall.Signal
		more   []string
		code   int
		says   string
	}{
		{syscall.SIGINT, nil, 1, "drill app.example.com: interrupted; "},
		{syscall.SIGKILL, []string{"--for", "6s"}, -1, ""},
	} {
		t.Run(c.signal.String(), func(t *testing.T) {
			var out, errOut bytes.Buffer
			cmd := exec.Command("sidestep", w.drill(append(c.more, "--resolver", stubborn)...)...)
			cmd.Dir, cmd.Stdout, cmd.Stderr = w.dir, &out, &errOut
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.wait("the drain to be written", func(status control.Status, answer []string) bool {
				return len(status.Overrides) == 1 && strings.HasPrefix(status.Overrides[0].Reason, "drill app.example.com (") && status.Overrides[0].Until != nil &&
					slices.Equal(answer, []string{hostOf(w.backends[1])})
			})
			if err := cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			waitFor(t, cmd)
			if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(errOut.String(), c.says) {
				t.Errorf("exited with %d, want %d:\n%s%s", code, c.code, out.String(), errOut.String())
			}
			if status, _ := w.status(); c.signal == syscall.SIGINT && len(status.Overrides) > 0 {
				t.Errorf("left: %+v", status.Overrides)
			}
			w.settle()
		})
	}
}

// TestDrillIsRefused breaks the rest, and gives command lines that cannot be meant.
func TestDrillIsRefused(t *testing.T) {
	t.Parallel()
	w := newDrillWorld(t)
	for want, args := range map[string][]string{
		"expected a NAME or --local, got both":  {"drill", "app", "--local"},
		"expected one NAME, or --local":         {"drill"},
		"--http2 is of --local":                 {"drill", "app", "--http2"},
		"--resolver is of a NAME":               {"drill", "--local", "--resolver", "192.0.2.1"},
		"no record set of that name":            {"drill", "none"},
		"caches keep the answer for 1s":         w.drill("--for", "1s"),
		"--for -1s: expected a second or more":  {"drill", "app", "--for", "-1s"},
		"read identity \"x\": expected header:": {"drill", "app", "--identity", "x"},
	} {
		if code, out, errOut := sidestepIn(t, w.dir, args...); code != 2 || out != "" || !strings.Contains(errOut, want) {
			t.Errorf("%q exited with %d, want 2 and %q: %s%s", args, code, want, out, errOut)
		}
	}
	if err := w.backends[1].Break(lab.Refuse); err != nil {
		t.Fatal(err)
	}
	w.wait("the second server to be down", func(status control.Status, _ []string) bool {
		return slices.ContainsFunc(status.Targets, func(target control.Target) bool { return target.Verdict == "down" })
	})
	code, out, errOut := sidestepIn(t, w.dir, w.drill()...)
	if want := "no other usable answer than " + hostOf(w.backends[0]) + ": " + hostOf(w.backends[1]) + " is down ("; code != 3 || out != "" || !strings.Contains(errOut, want) {
		t.Errorf("exited with %d, want 3 and %q: %s%s", code, want, out, errOut)
	}
	if status, _ := w.status(); len(status.Overrides) > 0 {
		t.Errorf("left: %+v", status.Overrides)
	}
	if code, out, errOut := sidestepIn(t, w.dir, "__complete", "drill", ""); code != 0 || !strings.Contains(out, "app.example.com\n") {
		t.Errorf("completion exited with %d: %s%s", code, out, errOut)
	}
}
