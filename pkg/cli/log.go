package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/rs/zerolog/diode"
	"github.com/spf13/cobra"
)

// logTime is the time in a line of the log: RFC 3339 with milliseconds, as in
// the journal.
const logTime = "2006-01-02T15:04:05.000Z07:00"

// logTimeSet tells zerolog of it, which has one form for the whole process.
var logTimeSet sync.Once

// logFlags is how the log is written. It goes to stderr.
type logFlags struct {
	level  string
	format string
}

func (f *logFlags) bind(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.level, "log-level", "", "log lines of this `LEVEL` and above: debug, info, warn, error (default info in run and demo, warn elsewhere)")
	flags.StringVar(&f.format, "log-format", "auto", "`FORM` of the log: json, console, auto (json in run, unless on a terminal, else console)")
	complete(cmd, "log-level", func() []string { return logLevels })
	complete(cmd, "log-format", func() []string { return logFormats })
}

var (
	logLevels  = []string{"debug", "info", "warn", "error"}
	logFormats = []string{"json", "console", "auto"}
)

// check sees that the flags can be meant. Every command asks it first, one that
// logs nothing, too.
func (f *logFlags) check() error {
	switch {
	case f.level != "" && !slices.Contains(logLevels, strings.ToLower(f.level)):
		return usagef("--log-level %q: expected debug, info, warn or error; try: sidestep --help", f.level)
	case !slices.Contains(logFormats, f.format):
		return usagef("--log-format %q: expected json, console or auto; try: sidestep --help", f.format)
	}
	return nil
}

// logLines is how many lines of the log may wait for a reader that stalls, and
// logFlush how long the end waits for them.
const (
	logLines = 1000
	logFlush = time.Second
)

// daemonLog makes the log of a process that must never wait for it: lines that
// nobody reads are dropped and counted, and a reader that is gone ends nothing.
// flush is called at the end. zerolog's own diode does the queueing.
func (a *app) daemonLog() (log *slog.Logger, flush func(), err error) {
	signal.Ignore(syscall.SIGPIPE) // a Go program dies of a broken pipe at stderr else
	queue := diode.NewWriter(a.screen, logLines, 0, func(missed int) {
		fmt.Fprintf(a.screen, "sidestep: %d lines of the log were dropped: nobody reads them\n", missed)
	})
	log, err = a.loggerTo(queue, zerolog.InfoLevel, !a.screen.terminal)
	flush = func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = queue.Close() // its only error is that of stderr
		}()
		select {
		case <-done:
		case <-time.After(logFlush):
		}
	}
	return log, flush, err
}

// logger makes the log of a command, for the person who typed it: the answer is
// what matters, so that only warnings and errors are told unless --log-level says
// otherwise.
func (a *app) logger() (*slog.Logger, error) {
	return a.loggerTo(a.screen, zerolog.WarnLevel, false)
}

// demoLog makes the log of a demo: that of a daemon for a person who watches it.
// A story tells by its steps what did not go well, and is spared all but errors:
// a busy machine that stands still for a moment is none.
func (a *app) demoLog(script bool) (*slog.Logger, error) {
	if script {
		return a.loggerTo(a.screen, zerolog.ErrorLevel, false)
	}
	return a.loggerTo(a.screen, zerolog.InfoLevel, false)
}

// loggerTo makes a log of the level and form that the flags say, or else of those
// that are given.
func (a *app) loggerTo(to io.Writer, level zerolog.Level, json bool) (*slog.Logger, error) {
	if err := a.log.check(); err != nil {
		return nil, err
	}
	if a.log.level != "" {
		level, _ = zerolog.ParseLevel(a.log.level) // it was checked
	}
	if a.log.format != "auto" {
		json = a.log.format == "json"
	}
	if !json {
		to = zerolog.ConsoleWriter{Out: to, NoColor: !a.screen.colour, TimeFormat: "15:04:05.000"}
	}
	logTimeSet.Do(func() { zerolog.TimeFieldFormat = logTime })
	log := zerolog.New(to).Level(level).With().Timestamp().Logger()
	return slog.New(telling{zerolog.NewSlogHandler(log)}), nil
}

// telling leaves out the attributes of a line that say nothing: a verdict of up has
// no cause.
type telling struct{ slog.Handler }

func (t telling) Handle(ctx context.Context, line slog.Record) error {
	short := slog.NewRecord(line.Time, line.Level, line.Message, line.PC)
	line.Attrs(func(a slog.Attr) bool {
		if a.Value.String() != "" {
			short.AddAttrs(a)
		}
		return true
	})
	return t.Handler.Handle(ctx, short)
}

func (t telling) WithAttrs(attrs []slog.Attr) slog.Handler {
	return telling{t.Handler.WithAttrs(attrs)}
}

func (t telling) WithGroup(name string) slog.Handler { return telling{t.Handler.WithGroup(name)} }
