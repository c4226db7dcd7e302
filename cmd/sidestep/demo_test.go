package main

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
	"strings"
	"syscall"
	"testing"
	"time"

	"sidestep/pkg/lab"
	"sidestep/pkg/observe"
	"sidestep/pkg/record"
)

func hostOf(b *lab.Backend) string {
	host, _, _ := net.SplitHostPort(b.Addr()) // it listens there
	return host
}

// startLocalDaemon runs a daemon on a zone file, in a new directory, until the
// test ends.
func startLocalDaemon(t *testing.T, list []*lab.Backend) (dir string) {
	t.Helper()
	dir = shortDir(t)
	port, err := dnsPort()
	if err != nil {
		t.Fatal(err)
	}
	_, web, err := net.SplitHostPort(list[0].Addr())
	if err != nil {
		t.Fatal(err)
	}
	zone, values := "$ORIGIN example.com.\n@ 60 IN SOA ns1 h 1 60 60 60 60\n@ 60 IN NS ns1\n", []string{}
	for _, b := range list {
		zone += "www 60 IN A " + hostOf(b) + "\n"
		values = append(values, hostOf(b))
	}
	writeAll(t, dir, map[string]string{"example.com.zone": zone, "sidestep.yaml": fmt.Sprintf(`node: {name: mon-1}
state: {dir: state}
control: {socket: c.sock}
zones: [{zone: example.com, provider: local, file: example.com.zone, listen: "127.0.0.1:%d"}]
checks: {web: {http: {url: "http://www.example.com:%s/healthz"}, interval: 3s, timeout: 2900ms, fall: 1, rise: 1}}
records: [{name: www.example.com, ttl: 60s, check: web, answers: [%s]}]
`, port, web, strings.Join(values, ", "))})
	start(t, dir, "run")
	return dir
}

// running is a command that was started.
type running struct {
	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr *lockedBuffer
}

// start starts a command, which is killed by its process id when the test ends
// before it.
func start(t *testing.T, dir string, args ...string) *running {
	t.Helper()
	return startBy(t, "sidestep", nil, dir, args...)
}

// startBy starts what lies at a path, with more in its environment.
func startBy(t *testing.T, path string, env []string, dir string, args ...string) *running {
	t.Helper()
	r := &running{cmd: exec.Command(path, args...), stderr: &lockedBuffer{}}
	r.cmd.Dir, r.cmd.Stderr, r.cmd.Env = dir, r.stderr, append(os.Environ(), env...)
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.stdout = bufio.NewReader(out)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			_ = r.cmd.Process.Kill()
			_ = r.cmd.Wait()
		}
		if t.Failed() {
			t.Logf("stderr of sidestep %s:\n%s", strings.Join(args, " "), r.stderr)
		}
	})
	return r
}

var storyLine = regexp.MustCompile(`^ +([0-9]+\.[0-9]{2})s  (\S.*?\S) +((?:127\.0\.0\.\d+ ?)+) +(127\.0\.0\.\d+) +[0-9]+\.[0-9]{2}s$`)

// TestREADMEDemoScript plays the failover that the README promises, and reads
// its timeline as a person would.
func TestREADMEDemoScript(t *testing.T) {
	if !strings.Contains(readme(t), "`bin/sidestep demo --script` plays a\nwhole failover by itself and exits with 0 only if every step held.") {
		t.Error("the README promises something else")
	}
	code, out, errOut := sidestepIn(t, shortDir(t), "demo", "--script")
	if code != 0 || errOut != "" {
		t.Fatalf("exited with %d:\n%s%s", code, out, errOut)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if heading := "TIME WHAT HAPPENED WWW.DEMO.TEST APP.DEMO.TEST SEEN AFTER"; strings.Join(strings.Fields(lines[0]), " ") != heading {
		t.Errorf("the heading is %q", lines[0])
	}
	last := -1.0
	for i, want := range []struct {
		what string
		www  int // how many answers
		app  string
	}{
		{"the daemon starts", 3, "127.0.0.11"},
		{"b1 dies", 2, "127.0.0.12"},
		{"b2 hangs", 1, "127.0.0.13"},
		{"b3 answers 503", 1, "127.0.0.13"},
		{"b2 is mended", 1, "127.0.0.12"},
		{"b1 and b3 are mended", 3, "127.0.0.11"},
	} {
		m := storyLine.FindStringSubmatch(lines[i+1])
		if m == nil {
			t.Fatalf("line %d is %q", i+1, lines[i+1])
		}
		var at float64
		if _, err := fmt.Sscan(m[1], &at); err != nil || at <= last {
			t.Errorf("%q happened at %s, after %.2fs", m[2], m[1], last)
		}
		last = at
		if n := len(strings.Fields(m[3])); !strings.HasPrefix(m[2], want.what) || n != want.www || m[4] != want.app {
			t.Errorf("line %d is %q, want %q with %d answers and %s", i+1, lines[i+1], want.what, want.www, want.app)
		}
	}
	if m := regexp.MustCompile(`(?m)^asked www.demo.test ([1-9][0-9]*) times meanwhile: 0 times without an answer\nevery step held$`); !m.MatchString(out) {
		t.Errorf("the end is missing:\n%s", out)
	}
}

// TestREADMEDemo does what the demo tells a person to do, and ends it with
// Ctrl-C.
func TestREADMEDemo(t *testing.T) {
	dir := shortDir(t)
	t.Setenv("TMPDIR", dir)
	path, err := exec.LookPath("sidestep")
	if err != nil {
		t.Fatal(err)
	}
	demo := startBy(t, path, []string{"PATH=" + dir}, dir, "demo") // as make demo does
	var said string
	for !strings.Contains(said, "Ctrl-C ends it all.") {
		line, err := demo.stdout.ReadString('\n')
		if err != nil {
			t.Fatalf("%v after:\n%s", err, said)
		}
		said += line
	}
	find := func(pattern string) string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(said)
		if m == nil {
			t.Fatalf("nothing matches %s in:\n%s", pattern, said)
		}
		return m[1]
	}
	dns := find(`zone +demo.test, served at (\S+)`)
	config := find(`(?m)^  export SIDESTEP_CONFIG=(\S+)$`)
	find(`(?m)^  (` + regexp.QuoteMeta(path) + ` status)$`)
	waitAnswer := func(want ...string) {
		t.Helper()
		var got []string
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			answer, err := observe.Ask(t.Context(), dns, "www.demo.test.", record.A)
			if got = answer.Values; err == nil && strings.Join(got, " ") == strings.Join(want, " ") {
				return
			}
		}
		t.Fatalf("www.demo.test answers with %v, want %v", got, want)
	}
	waitAnswer("127.0.0.11", "127.0.0.12", "127.0.0.13")
	post(t, find(`curl -X POST '(\S+/break\?\S+)'`))
	waitAnswer("127.0.0.12", "127.0.0.13")
	if code, out, errOut := sidestepIn(t, dir, "status", "--config", config); code != 0 || !strings.Contains(out, "connect/refused") {
		t.Errorf("status exited with %d:\n%s%s", code, out, errOut)
	}
	if code, out, errOut := sidestepIn(t, dir, "plan", "--config", config); code != 0 || !strings.Contains(out, "in sync") {
		t.Errorf("plan exited with %d:\n%s%s", code, out, errOut)
	}
	code, _, errOut := sidestepIn(t, dir, "demo", "--dir", filepath.Dir(config))
	if code != 1 || !strings.HasPrefix(errOut, "sidestep: demo: another demo runs in ") {
		t.Errorf("a second demo in one folder exited with %d: %s", code, errOut)
	}
	post(t, find(`curl -X POST '(\S+/mend\?\S+)'`))
	waitAnswer("127.0.0.11", "127.0.0.12", "127.0.0.13")

	if err := demo.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(demo.stdout); err != nil || strings.TrimSpace(string(rest)) != "" {
		t.Errorf("at its end it said %q, %v", rest, err)
	}
	waitFor(t, demo.cmd)
	if code := demo.cmd.ProcessState.ExitCode(); code != 0 || strings.Contains(demo.stderr.String(), "sidestep: ") {
		t.Errorf("it ended with %d", code)
	}
	if _, err := os.Stat(filepath.Dir(config)); !os.IsNotExist(err) {
		t.Errorf("its folder is left: %v", err)
	}
}

func post(t *testing.T, url string) {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("POST %s: %s", url, response.Status)
	}
}
