package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sidestep/pkg/control"
)

// silentServer accepts connections and says nothing; each is told of.
func silentServer(t *testing.T) (addr *net.TCPAddr, accepted <-chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	came := make(chan struct{}, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			came <- struct{}{}
		}
	}()
	return listener.Addr().(*net.TCPAddr), came
}

const silentConfig = `node: {name: mon-1}
state: {dir: state}
control: {socket: c.sock}
zones: [{zone: example.com, provider: local, file: example.com.zone, listen: ""}]
checks: {web: {http: {url: "http://www.example.com:%[2]d/"}, interval: 10m, timeout: 5m, fall: 3, rise: 3}}
records: [{name: www.example.com, ttl: 60s, check: web, answers: [%[1]s, 127.0.0.254]}]
`

// TestInterrupt sends SIGINT while a server lets each command wait for minutes.
func TestInterrupt(t *testing.T) {
	for _, c := range []struct {
		name, says string
		args       []string
	}{
		{"check", "sidestep: interrupted: not every target was probed to the end", []string{"check"}},
		{"plan", "sidestep: interrupted: nothing was written", []string{"plan"}},
		{"reconcile", "sidestep: interrupted: what was written stands, nothing is half done; to go on, run it again", []string{"reconcile"}},
		{"JSON", "sidestep: interrupted: not every target was probed to the end", []string{"check", "--json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := shortDir(t)
			addr, accepted := silentServer(t)
			writeAll(t, dir, map[string]string{
				"sidestep.yaml":    fmt.Sprintf(silentConfig, addr.IP, addr.Port),
				"example.com.zone": "$ORIGIN example.com.\n@ 60 IN SOA ns1 h 1 60 60 60 60\n@ 60 IN NS ns1\nwww 60 IN A " + addr.IP.String() + "\n",
			})
			var out, errOut bytes.Buffer
			cmd := exec.Command("sidestep", append(c.args, "--config", "sidestep.yaml")...)
			cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errOut
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			<-accepted
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			waitFor(t, cmd)
			if code := cmd.ProcessState.ExitCode(); code != control.ExitFailure {
				t.Errorf("exited with %d, want %d", code, control.ExitFailure)
			}
			if got := strings.TrimPrefix(errOut.String(), "config: sidestep.yaml\n"); got != c.says+"\n" || out.Len() > 0 {
				t.Errorf("said %q and answered %q, want %q and nothing", got, out.String(), c.says)
			}
		})
	}
}

// waitFor waits for a process, and kills it if it does not end.
func waitFor(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	tooLate := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	if _, is := errors.AsType[*exec.ExitError](err); err != nil && !is {
		t.Fatal(err)
	}
	if !tooLate.Stop() {
		t.Fatalf("did not end within %s", patience)
	}
}

func writeAll(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// busyDaemon begins with what it is asked for, and never ends.
type busyDaemon struct {
	control.Backend // nothing else is asked of it

	begun, cut chan struct{}
}

func (d busyDaemon) Reconcile(ctx context.Context, _ control.PlanRequest) (control.Plan, error) {
	close(d.begun)
	<-ctx.Done()
	close(d.cut)
	return control.Plan{}, ctx.Err()
}

// TestInterruptWhileTheDaemonWorks ends the command: the daemon hears of it.
func TestInterruptWhileTheDaemonWorks(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	writeAll(t, dir, map[string]string{"sidestep.yaml": fmt.Sprintf(silentConfig, "127.0.0.1", 9)})
	daemon := busyDaemon{begun: make(chan struct{}), cut: make(chan struct{})}
	server, err := control.Listen(filepath.Join(dir, "c.sock"), daemon, nil)
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { _ = server.Serve(serving) })
	defer group.Wait()
	defer stop()

	var errOut bytes.Buffer
	cmd := exec.Command("sidestep", "reconcile", "--config", "sidestep.yaml")
	cmd.Dir, cmd.Stderr = dir, &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-daemon.begun
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitFor(t, cmd)
	<-daemon.cut
	if code := cmd.ProcessState.ExitCode(); code != control.ExitFailure || !strings.Contains(errOut.String(), "sidestep: interrupted: what was written stands") {
		t.Errorf("exited with %d and said %q", code, errOut.String())
	}
}
