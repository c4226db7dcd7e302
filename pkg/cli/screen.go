package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// screen is stderr: everything but the answer, and on a terminal below it one
// line that says how far long work is. It may be written to by several
// goroutines.
type screen struct {
	out      io.Writer
	terminal bool // out is one
	smart    bool // it can take a line back
	colour   bool

	mu    sync.Mutex
	shown bool // the line of progress
}

// newScreen obeys NO_COLOR (no-color.org) and TERM=dumb.
func newScreen(stdio IO) *screen {
	s := &screen{out: stdio.Err, terminal: isTerminal(stdio.Err)}
	s.smart = s.terminal && stdio.Getenv("TERM") != "dumb"
	s.colour = s.smart && stdio.Getenv("NO_COLOR") == ""
	return s
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// takeBack is what removes the line that the cursor is in.
const takeBack = "\r\x1b[K"

// Write prints whole lines, over the line of progress.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	return s.out.Write(p)
}

func (s *screen) clear() {
	if s.shown {
		fmt.Fprint(s.out, takeBack)
		s.shown = false
	}
}

// progress tells a terminal how far long work is, each line over the one
// before. Elsewhere it is silent: a log is no place for it.
func (a *app) progress(format string, args ...any) {
	s := a.screen
	if !s.smart {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, takeBack+format, args...)
	s.shown = true
}

// sayAfter is how long a command waits for somebody without a word.
const sayAfter = 1500 * time.Millisecond

// waitFor says whom a command waits for, where no line of progress does, unless it is
// over soon: the function that it gives is to be called then. until says how long that
// may last.
func (a *app) waitFor(whom, until string) (over func()) {
	a.progress("waiting for %s", whom)
	if a.screen.smart {
		return func() {}
	}
	timer := time.AfterFunc(sayAfter, func() { a.complain("waiting for " + whom + ", " + until) })
	return func() { timer.Stop() }
}

// progressDone clears the line.
func (a *app) progressDone() {
	a.screen.mu.Lock()
	defer a.screen.mu.Unlock()
	a.screen.clear()
}
