package ping

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// insideVariable names the test that runs in a network namespace of its own.
const insideVariable = "SIDESTEP_PING_TEST_INSIDE"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inNamespace is true in a network namespace of its own, with loopback up. In
// the ordinary one it is false: it has run this test, or benchmark, in a child
// process that has such a namespace, and reported what came of it. The
// namespace ends with the child.
func inNamespace(tb testing.TB) bool {
	tb.Helper()
	if os.Getenv(insideVariable) == tb.Name() {
		command(tb, "ip", "link", "set", "lo", "up")
		return true
	}
	if os.Geteuid() != 0 {
		need(tb, "needs root, to make a network namespace")
	}
	path, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	only := "^" + strings.ReplaceAll(tb.Name(), "/", "$/^") + "$"
	args := []string{"-test.v", "-test.count=1", "-test.run", only}
	if _, bench := tb.(*testing.B); bench {
		args = []string{"-test.v", "-test.run", "^$", "-test.bench", only, "-test.benchtime", "1x"}
	}
	cmd := exec.CommandContext(tb.Context(), path, args...)
	cmd.Env = append(os.Environ(), insideVariable+"="+tb.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	switch {
	case strings.Contains(string(out), "--- SKIP"):
		tb.Skipf("%s", out)
	case err != nil:
		tb.Fatalf("%v\n%s", err, out)
	case testing.Verbose():
		tb.Logf("\n%s", out)
	}
	return false
}

// need skips a test that lacks something, or fails where nothing may be lacking.
func need(tb testing.TB, what string) {
	tb.Helper()
	if os.Getenv("SIDESTEP_TEST_REAL") == "require" {
		tb.Fatal(what)
	}
	tb.Skip(what)
}

// command runs a program that sets a namespace up.
func command(tb testing.TB, name string, args ...string) {
	tb.Helper()
	if _, err := exec.LookPath(name); err != nil {
		need(tb, "needs "+name)
	}
	if out, err := exec.CommandContext(tb.Context(), name, args...).CombinedOutput(); err != nil {
		tb.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
}

// allowDatagrams opens the datagram socket to every group of this namespace, or
// to none.
func allowDatagrams(tb testing.TB, on bool) {
	tb.Helper()
	text := "1 0"
	if on {
		text = "0 2147483647"
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ping_group_range", []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}
