package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a child, which ends with this process at the latest.
type process struct {
	cmd    *exec.Cmd
	name   string
	errors *tail
	done   chan struct{} // closed when it has ended
	status error
	also   *process // ends with it
	dir    string   // of the daemon's world
}

// start starts a child that is killed when ctx ends. The calling goroutine has
// to be locked to its thread: the kernel kills the child when that thread ends.
func start(ctx context.Context, name string, out io.Writer, command ...string) (*process, error) {
	p := &process{name: name, errors: &tail{}, done: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, command[0], command[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = out, p.errors
	if out != nil {
		p.cmd.Stderr = io.MultiWriter(out, p.errors)
	}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 10 * time.Second
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.status = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// stop ends the child and waits for it.
func (p *process) stop() {
	if p.also != nil {
		p.also.stop()
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails when it is gone, which is what is wanted
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// wait lasts d, or until the child ends, which is an error, or ctx does.
func (p *process) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.done:
		return fmt.Errorf("%s ended: %w: %s", p.name, errors.Join(p.status, ctx.Err()), p.errors)
	}
}

// tail keeps the last of what a child says on stderr.
type tail struct{ bytes []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.bytes = append(t.bytes, p...)
	t.bytes = t.bytes[max(0, len(t.bytes)-2000):]
	return len(p), nil
}

func (t *tail) String() string { return strings.TrimSpace(string(t.bytes)) }

// cpuOf is the user and system time that a process has used, to the nanosecond:
// its CPU clock (clock_getcpuclockid(3)) counts what utime and stime count, and
// is not rounded to ticks.
func cpuOf(pid int) (time.Duration, error) {
	const schedClock = 2 // CPUCLOCK_SCHED
	var now unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedClock), &now); err != nil {
		return 0, fmt.Errorf("read the CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(now.Nano()), nil
}

// peakOf is the highest resident set of a process so far, in KiB.
func peakOf(pid int) (int, error) { return statusOf(pid, "VmHWM:") }

func statusOf(pid int, key string) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if rest, found := bytes.CutPrefix(line, []byte(key)); found {
			return strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(string(rest)), " kB"))
		}
	}
	return 0, fmt.Errorf("process %d: no %s in its status", pid, key)
}

// timeWait counts the connections to a port of ours that wait on the prober's
// side (proc(5), net/tcp: state 06).
func timeWait(port int) (int, error) {
	text, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return 0, err
	}
	suffix, n := fmt.Sprintf(":%04X", port), 0
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) > 3 && fields[3] == "06" && strings.HasSuffix(fields[2], suffix) {
			n++
		}
	}
	return n, nil
}

// checkFiles says what is missing when the limit on open files is too low.
func checkFiles() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit on open files: %w", err)
	}
	if limit.Max < filesNeeded {
		return fmt.Errorf("the hard limit on open files is %d and the target needs %d: run ulimit -Hn %d as root first",
			limit.Max, filesNeeded, filesNeeded)
	}
	return nil
}

// loadAverage is how many processes wanted to run in the last 1, 5 and 15
// minutes, as proc(5) gives it.
func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg") // empty where there is none
	fields := strings.Fields(string(text))
	return strings.Join(fields[:min(3, len(fields))], " ")
}

func kernel() string {
	text, _ := os.ReadFile("/proc/sys/kernel/osrelease") // empty where there is none
	return strings.TrimSpace(string(text))
}
