package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sidestep/pkg/control"
)

// watchPage is a terminal that is redrawn in place, or else blocks of text or JSON.
func (a *app) watchPage() watchPage {
	out := a.io.Out
	if local, is := out.(localTimes); is {
		out = local.out
	}
	file, is := out.(*os.File)
	if !is || a.json || !isTerminal(file) || a.io.Getenv("TERM") == "dumb" {
		return &watchBlocks{app: a}
	}
	s := &watchScreen{app: a, out: file, colour: a.io.Getenv("NO_COLOR") == "", told: make(chan os.Signal, 1)}
	signal.Notify(s.told, syscall.SIGWINCH, syscall.SIGTSTP)
	s.enter()
	return s
}

// statusLines is a status as people read it, a line each, with nothing in it that
// would move the cursor of a terminal.
func (a *app) statusLines(s control.Status, now time.Time) []string {
	var out strings.Builder
	page := *a
	page.io.Out = localTimes{&out, time.Local, time.Now}
	page.printStatus(s, now)
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, printable(strings.TrimSuffix(line, "\n")))
	}
	return lines
}

// watchBlocks prints the whole again when something is another.
type watchBlocks struct {
	app   *app
	shown []byte // what mattered of the last
	gone  bool   // it was said that the daemon is away
}

func (b *watchBlocks) show(w watched) error {
	away := w.away()
	switch {
	case away && !b.gone:
		b.app.complain(fmt.Sprintf("the daemon went away: %v; going on when it is back", w.gone))
	case !away && b.gone:
		b.app.complain("the daemon is back")
	}
	if b.gone = away; away {
		return nil
	}
	matters, err := lasting(w.status)
	if err != nil || bytes.Equal(matters, b.shown) {
		return err
	}
	first := b.shown == nil
	b.shown = matters
	if b.app.json {
		encoder := json.NewEncoder(b.app.io.Out)
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(w.status)
	} else {
		text := "at " + w.at.Format(time.DateTime) + "\n" + strings.Join(b.app.statusLines(w.status, w.at), "\n") + "\n"
		if !first {
			text = "\n" + text
		}
		_, err = io.WriteString(b.app.io.Out, text)
	}
	if err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	return nil
}

func (b *watchBlocks) tick(watched) error        { return nil }
func (b *watchBlocks) signals() <-chan os.Signal { return nil }
func (b *watchBlocks) signal(os.Signal)          {}
func (b *watchBlocks) leave()                    {}

// lasting is a status without what is another at every look: ages, counters, and what
// probes and lists say that say the same again.
func lasting(s control.Status) ([]byte, error) {
	whole, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("compare the status: %w", err)
	}
	s = control.Status{} // a copy: the lists are shared else
	if err := json.Unmarshal(whole, &s); err != nil {
		return nil, fmt.Errorf("compare the status: %w", err)
	}
	s.Schedule = control.Schedule{}
	s.Leader.Until = nil
	for i := range s.Nodes {
		s.Nodes[i].Heard = nil
	}
	for i := range s.Zones {
		s.Zones[i].ListedAt = nil
		if l := s.Zones[i].Leader; l != nil {
			l.Until = nil
		}
	}
	for i := range s.Targets {
		lastingTarget(&s.Targets[i])
	}
	if s.Canary != nil {
		s.Canary.Answered, s.Canary.Targets = 0, nil
	}
	return json.Marshal(s)
}

func lastingTarget(t *control.Target) {
	t.Passes, t.Fails, t.Unknowns, t.Detail, t.Last = 0, 0, 0, "", nil
	if t.Cooldown.State != "disabled" {
		t.Cooldown = control.Cooldown{}
	}
	if t.Counted != nil {
		t.Counted.Detail = ""
	}
	for i := range t.Vantages {
		t.Vantages[i].At = nil
	}
}

// Terminal codes (xterm's control sequences, invisible-island.net). A page that is
// redrawn stands on the alternate screen: what stood before is there again afterwards.
const (
	enterScreen = "\x1b[?1049h\x1b[?7l\x1b[?25l" // the alternate screen, no wrapping, no cursor
	leaveScreen = "\x1b[0m\x1b[?25h\x1b[?7h\x1b[?1049l"
	bold, red   = "\x1b[1m", "\x1b[31m"
	plain       = "\x1b[0m"
)

// watchScreen is a terminal that is redrawn in place. Each frame is one write over the
// one before, and nothing is cleared in between: it does not flicker.
type watchScreen struct {
	app    *app
	out    *os.File
	colour bool
	told   chan os.Signal
}

func (s *watchScreen) enter() { _, _ = io.WriteString(s.out, enterScreen) }

func (s *watchScreen) leave() {
	signal.Stop(s.told)
	_, _ = io.WriteString(s.out, leaveScreen)
}

func (s *watchScreen) signals() <-chan os.Signal { return s.told }

// signal obeys Ctrl-Z as every program does, with the terminal as it was; after any
// other the page is drawn anew, which is all that a new size needs.
func (s *watchScreen) signal(sig os.Signal) {
	if sig != syscall.SIGTSTP {
		return
	}
	goOn := make(chan os.Signal, 1)
	signal.Notify(goOn, syscall.SIGCONT)
	defer signal.Stop(goOn)
	_, _ = io.WriteString(s.out, leaveScreen)
	if syscall.Kill(os.Getpid(), syscall.SIGSTOP) == nil {
		<-goOn // this thread may run on for a moment
	}
	s.enter()
}

func (s *watchScreen) tick(w watched) error { return s.show(w) }

func (s *watchScreen) show(w watched) error {
	now := time.Now()
	lines := append(watchHead(w, now), s.app.statusLines(w.status, now)...)
	width, height := 80, 24
	if size, err := unix.IoctlGetWinsize(int(s.out.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 && size.Row > 0 {
		width, height = int(size.Col), int(size.Row)
	}
	if _, err := io.WriteString(s.out, frame(lines, width, height, s.colour)); err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	return nil
}

// watchHead is above the status: what the time is, and whether what follows is of now.
func watchHead(w watched, now time.Time) []string {
	if !w.away() {
		return []string{now.Format(time.TimeOnly) + "  as it changes; Ctrl-C ends", ""}
	}
	return []string{
		fmt.Sprintf("%s  THE DAEMON WENT AWAY %s ago; what follows is of %s", now.Format(time.TimeOnly), since(now, w.since), dayTime(w.at, now)),
		"going on when it is back: " + printable(strings.ReplaceAll(w.gone.Error(), "\n", "; ")),
		"",
	}
}

// alarming is what makes a line red: a cell that says so, or how the line begins.
var alarming = regexp.MustCompile(`  (down|suspected|two-writers|no-[a-z0-9-]+)(  |$)|^(notice: |canary: fails|  blocked by guard |  waits for you: |[0-9:]+  THE DAEMON WENT AWAY)`)

// frame draws lines over what stood there: as many as fit, each cut to the width, less
// the last column, where a terminal is of two minds. What is left out is counted. Wide
// characters that do not fit are cut off by the terminal, which wraps nothing.
func frame(lines []string, width, height int, colour bool) string {
	if len(lines) > height {
		left := len(lines) - (height - 1)
		lines = append(lines[:height-1:height-1], fmt.Sprintf("… and %s: sidestep status", plural(left, "more line", "more lines")))
	}
	var out strings.Builder
	out.WriteString("\x1b[H")
	for i, line := range lines {
		hue := ""
		switch {
		case !colour:
		case alarming.MatchString(line):
			hue = red
		case i == 0:
			hue = bold
		}
		if cut := []rune(line); len(cut) >= width {
			line = string(cut[:max(width-2, 0)]) + "…"
		}
		if hue != "" {
			line = hue + line + plain
		}
		if i > 0 {
			out.WriteString("\r\n")
		}
		out.WriteString(line + "\x1b[K")
	}
	out.WriteString("\x1b[J")
	return out.String()
}
