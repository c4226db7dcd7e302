package webtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what takes a second on a machine that has
// nothing else to do.
const patience = 3 * time.Minute

// demo is a running sidestep demo.
type demo struct {
	dir   string
	page  string   // URL of the dashboard, with the token
	dns   string   // address of the name server
	lab   string   // URL at which servers are broken and mended
	hosts []string // addresses of b1, b2, b3
}

// startDemo builds sidestep as make build does, and runs its demo until the test
// ends.
func startDemo(t *testing.T) *demo {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "sidestep")
	build := exec.Command("go", "build", "-tags", "grpcnotrace", "-trimpath", "-buildvcs=false", "-o", program, "./cmd/sidestep")
	build.Dir, build.Env = "../../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build sidestep: %v\n%s", err, out)
	}
	d := &demo{dir: filepath.Join(dir, "demo")}
	d.read(t, d.run(t, program))
	d.serves(t)
	return d
}

func (d *demo) run(t *testing.T, program string) io.Reader {
	t.Helper()
	log := &locked{}
	cmd := exec.Command(program, "demo", "--dir", d.dir)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		killer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		killer.Stop()
		if t.Failed() {
			t.Logf("stderr of the demo:\n%s", log)
		}
	})
	return out
}

var (
	pageURL    = regexp.MustCompile(`page +(http://127\.0\.0\.1:\S+)`)
	nameServer = regexp.MustCompile(`served at (\S+)`)
	breakURL   = regexp.MustCompile(`'(http://\S+)/break\?`)
	host       = regexp.MustCompile(`b\d at (\d+\.\d+\.\d+\.\d+):`)
)

// read takes from what the demo prints where things are.
func (d *demo) read(t *testing.T, out io.Reader) {
	t.Helper()
	text := ""
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(text, "Ctrl-C") {
		text += lines.Text() + "\n"
	}
	page, dns, lab := pageURL.FindStringSubmatch(text), nameServer.FindStringSubmatch(text), breakURL.FindStringSubmatch(text)
	for _, m := range host.FindAllStringSubmatch(text, -1) {
		d.hosts = append(d.hosts, m[1])
	}
	if page == nil || dns == nil || lab == nil || len(d.hosts) != 3 {
		t.Fatalf("the demo printed\n%s", text)
	}
	d.page, d.dns, d.lab = page[1], dns[1], lab[1]
	go func() { _, _ = io.Copy(io.Discard, out) }()
}

// serves waits until the page is there: the demo prints its address beforehand.
func (d *demo) serves(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		response, err := http.Get(d.page)
		if err == nil {
			response.Body.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// turn breaks or mends a server of the demo.
func (d *demo) turn(t *testing.T, what, server string) {
	t.Helper()
	response, err := http.Post(fmt.Sprintf("%s/%s?backend=%s&mode=refuse", d.lab, what, server), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s", what, server, response.Status)
	}
}

// answer is what the demo's name server says that a name is at.
func (d *demo) answer(t *testing.T, name string) []string {
	t.Helper()
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, d.dns)
	}}
	list, err := resolver.LookupHost(t.Context(), name+".")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

// answersWith waits until the demo's name server says so.
func (d *demo) answersWith(t *testing.T, name string, want ...string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		got := d.answer(t, name)
		if slices.Equal(got, want) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s answers with %v, want %v", name, got, want)
		}
	}
}

// locked is a buffer that a process writes while a test reads.
type locked struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
