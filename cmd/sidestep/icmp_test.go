package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidestep/pkg/control"
)

const icmpConfig = `node: {name: mon-1}
state: {dir: %[1]s/state}
control: {socket: %[1]s/c.sock}
zones: [{zone: example.com, provider: local, file: %[1]s/example.com.zone, listen: ""}]
checks:
  ping: {icmp: {}, interval: 300ms, timeout: 200ms, fall: 1, rise: 1}
records:
  - {name: www.example.com, ttl: 60s, check: ping, answers: [127.0.0.2, 127.0.0.3]}
`

const icmpZone = `$ORIGIN example.com.
$TTL 300
@   IN SOA ns1 hostmaster 1 3600 600 86400 60
@   IN NS  ns1
ns1 IN A   127.0.0.1
www 60 IN A 127.0.0.2
www 60 IN A 127.0.0.3
`

// nobody is a user without capabilities, and its group.
const nobody = 65534

// outcast runs the binary as nobody in a network namespace in which no group
// may open a ping socket, which is how the kernel makes one.
type outcast struct {
	t          *testing.T
	dir        string
	binary     string
	stop       context.Context
	attributes *syscall.SysProcAttr
}

func newOutcast(t *testing.T) *outcast {
	t.Helper()
	if os.Geteuid() != 0 {
		if os.Getenv("SIDESTEP_TEST_REAL") == "require" {
			t.Fatal("needs root")
		}
		t.Skip("needs root, to become another user in another network namespace")
	}
	built, err := builtBinary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for d := dir; d != filepath.Clean(os.TempDir()) && d != "/"; d = filepath.Dir(d) { // closed to others
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	o := &outcast{t: t, dir: dir, binary: filepath.Join(dir, "sidestep"), stop: t.Context(), attributes: &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, Pdeathsig: syscall.SIGKILL,
	}}
	program, err := os.ReadFile(built)
	if err != nil {
		t.Fatal(err)
	}
	o.file("sidestep", string(program), 0o755)
	o.file("sidestep.yaml", fmt.Sprintf(icmpConfig, dir), 0o600)
	o.file("example.com.zone", icmpZone, 0o600)
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *outcast) file(name, text string, mode os.FileMode) {
	o.t.Helper()
	path := filepath.Join(o.dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		o.t.Fatal(err)
	}
	if err := os.Chown(path, nobody, nobody); err != nil {
		o.t.Fatal(err)
	}
}

func (o *outcast) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(o.stop, o.binary, append(args, "--config", filepath.Join(o.dir, "sidestep.yaml"))...)
	cmd.SysProcAttr, cmd.Dir = o.attributes, o.dir
	return cmd
}

// expect runs a command to its end, and sees that its output names the remedy.
func (o *outcast) expect(code int, args ...string) {
	o.t.Helper()
	cmd := o.command(args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		o.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		o.t.Errorf("%v exited with %d, want %d:\n%s", args, got, code, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "net.ipv4.ping_group_range") && strings.Contains(line, "AmbientCapabilities=CAP_NET_RAW") {
			return
		}
	}
	o.t.Errorf("%v names no remedy in one line:\n%s", args, out)
}

// TestCase17NoPermissionToPingIsNotDown runs the built binary as a user without
// capabilities where net.ipv4.ping_group_range is "1 0", over two addresses that
// are alive and published.
//
// Input: an ICMP check that may open neither kind of socket. validate, check
// and the log of the daemon name the sysctl and the capability; the results are
// unknown, and nothing is written.
func TestCase17NoPermissionToPingIsNotDown(t *testing.T) {
	t.Parallel()
	o := newOutcast(t)
	o.expect(0, "validate")
	o.expect(0, "validate", "--json")
	o.expect(0, "check", "--fail")
	daemon := o.command("run", "--log-format", "json")
	var log bytes.Buffer
	daemon.Stderr = &log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	probes := o.watch(10)
	_ = daemon.Process.Signal(syscall.SIGTERM)
	if err := daemon.Wait(); err != nil {
		t.Errorf("the daemon ended with %v", err)
	}
	if !probes {
		t.Errorf("the targets were not judged as expected:\n%s", log.String())
	}
	if n := strings.Count(log.String(), "checks.ping: no permission to ping"); n != 1 {
		t.Errorf("the log names the remedy %d times, want once:\n%s", n, log.String())
	}
	if code := o.command("reconcile"); code.Run() == nil {
		t.Error("reconcile says that all is well")
	}
	zone, err := os.ReadFile(filepath.Join(o.dir, "example.com.zone"))
	if err != nil || string(zone) != icmpZone {
		t.Errorf("the zone was written to (%v):\n%s", err, zone)
	}
}

// watch looks at the daemon's status until both targets had so many probes, and
// tells whether all that it ever said of them was unknown, with the remedy.
func (o *outcast) watch(probes int) bool {
	o.t.Helper()
	seen := 0
	for end := time.Now().Add(patience); seen < probes; time.Sleep(300 * time.Millisecond) {
		if time.Now().After(end) {
			o.t.Error("the daemon did not say enough in time")
			return false
		}
		ctx, cancel := context.WithTimeout(o.t.Context(), 5*time.Second)
		status, err := askStatus(ctx, filepath.Join(o.dir, "c.sock"))
		cancel()
		if err != nil || len(status.Targets) != 2 || status.Targets[0].Detail == "" || status.Targets[1].Detail == "" {
			continue
		}
		for _, target := range status.Targets {
			if target.Verdict != "unknown" || !strings.Contains(target.Detail, "ping_group_range") || target.Fails != 0 || target.Passes != 0 {
				o.t.Errorf("got %+v, want unknown and the remedy", target)
				return false
			}
		}
		seen++
	}
	return true
}

func askStatus(ctx context.Context, socket string) (control.Status, error) {
	client, err := control.Dial(ctx, socket)
	if err != nil {
		return control.Status{}, err
	}
	return client.Status(ctx, "")
}
