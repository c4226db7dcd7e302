package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sidestep/pkg/control"
)

// toldDaemon has a status that a test changes, and tells who listens.
type toldDaemon struct {
	control.Backend // nothing else is asked of it

	mu     sync.Mutex
	node   string
	events chan control.StreamEvent
}

func (d *toldDaemon) Status(context.Context, string) (control.Status, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return control.Status{Node: d.node, Leader: control.Leader{State: "leader"}}, nil
}

func (d *toldDaemon) Events(context.Context) (<-chan control.StreamEvent, error) {
	return d.events, nil
}

// becomes gives it another status. The event arrives when somebody follows.
func (d *toldDaemon) becomes(node string) {
	d.mu.Lock()
	d.node = node
	d.mu.Unlock()
	d.events <- control.StreamEvent{Name: "status", Data: []byte("{}")}
}

// serve answers on a socket until stop is called.
func (d *toldDaemon) serve(t *testing.T, socket string) (stop func()) {
	t.Helper()
	server, err := control.Listen(socket, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { _ = server.Serve(ctx) })
	stop = sync.OnceFunc(func() {
		close(d.events) // as a daemon's end does
		cancel()
		group.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// seenScreen is all that a terminal got.
type seenScreen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *seenScreen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// wait waits until the terminal got a text after what it had at from, and gives all.
func (s *seenScreen) wait(t *testing.T, from int, text string) string {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		all := s.text.String()
		s.mu.Unlock()
		if strings.Contains(all[min(from, len(all)):], text) {
			return all
		}
		if time.Now().After(end) {
			t.Fatalf("waited %s for %q; the terminal got %q", patience, text, all)
		}
	}
}

// TestWatchOnATerminal sees each change in place, within its size, also over an end of
// the daemon, and leaves the terminal as it was.
func TestWatchOnATerminal(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	writeAll(t, dir, map[string]string{"sidestep.yaml": fmt.Sprintf(silentConfig, "127.0.0.1", 9)})
	socket := filepath.Join(dir, "c.sock")
	daemon := &toldDaemon{node: "first", events: make(chan control.StreamEvent)}
	stop := daemon.serve(t, socket)

	master, slave, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 5, Col: 40}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sidestep", "status", "--watch")
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, slave, slave, slave
	cmd.Env = append(cmd.Environ(), "TERM=xterm", "NO_COLOR=1", "SIDESTEP_CONFIG=sidestep.yaml")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close() // the command has its own; when that is gone, reading ends
	screen := &seenScreen{}
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(screen, master) }) // the end of a terminal is an error (EIO)

	at := len(screen.wait(t, 0, "node first, leader"))
	daemon.becomes("second")
	at = len(screen.wait(t, at, "node second, leader"))
	stop()
	at = len(screen.wait(t, at, "THE DAEMON WENT AWAY"))
	again := &toldDaemon{node: "third", events: make(chan control.StreamEvent)}
	again.serve(t, socket)
	screen.wait(t, at, "node third, leader")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	waitFor(t, cmd)
	reading.Wait()
	if code := cmd.ProcessState.ExitCode(); code != control.ExitDone {
		t.Errorf("exited with %d, want %d", code, control.ExitDone)
	}
	all := screen.wait(t, 0, "")
	const enter, leave = "\x1b[?1049h\x1b[?7l\x1b[?25l", "\x1b[0m\x1b[?25h\x1b[?7h\x1b[?1049l"
	head, frames, entered := strings.Cut(all, enter)
	frames, left := strings.CutSuffix(frames, leave)
	if head != "config: sidestep.yaml\r\n" || !entered || !left || strings.Contains(frames, "\x1b[?") {
		t.Fatalf("the terminal got %q", all)
	}
	for text := range strings.SplitSeq(frames, "\x1b[H") {
		lines := strings.Split(strings.NewReplacer("\x1b[K", "", "\x1b[J", "").Replace(text), "\n")
		for _, line := range lines {
			if len([]rune(strings.TrimRight(line, "\r"))) >= 40 || strings.Contains(line, "\x1b") || len(lines) > 5 {
				t.Errorf("on 40 columns and 5 lines: %q", text)
			}
		}
	}
}
