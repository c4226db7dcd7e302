package cli

import (
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/rs/zerolog/diode"
	"github.com/spf13/cobra"
)

// logTime is the time in a line of the log: RFC 3339 with milliseconds, as in
// the journal.
const logTime = "2006-01-02T15:04:05.000Z07:00"

// logFlags is how the log is written. It goes to stderr.
type logFlags struct {
	level  string
	format string
}

func (f *logFlags) bind(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.level, "log-level", "info", "log lines of this `LEVEL` and above: debug, info, warn, error")
	flags.StringVar(&f.format, "log-format", "auto", "`FORM` of the log: json, console, auto (console on a terminal)")
	complete(cmd, "log-level", func() []string { return []string{"debug", "info", "warn", "error"} })
	complete(cmd, "log-format", func() []string { return []string{"json", "console", "auto"} })
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
func (a *app) daemonLog(quiet bool) (log *slog.Logger, flush func(), err error) {
	signal.Ignore(syscall.SIGPIPE) // a Go program dies of a broken pipe at stderr else
	queue := diode.NewWriter(a.screen, logLines, 0, func(missed int) {
		fmt.Fprintf(a.screen, "sidestep: %d lines of the log were dropped: nobody reads them\n", missed)
	})
	log, err = a.loggerTo(queue, quiet)
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

// logger makes the log of a command. quiet raises its level to warnings, where
// the answer is what matters; an explicit --log-level wins.
func (a *app) logger(quiet bool) (*slog.Logger, error) { return a.loggerTo(a.screen, quiet) }

func (a *app) loggerTo(to io.Writer, quiet bool) (*slog.Logger, error) {
	level, err := zerolog.ParseLevel(a.log.level)
	if err != nil || level < zerolog.DebugLevel || level > zerolog.ErrorLevel {
		return nil, usagef("--log-level %q: expected debug, info, warn or error; try: sidestep --help", a.log.level)
	}
	if quiet && level == zerolog.InfoLevel {
		level = zerolog.WarnLevel
	}
	out := to
	switch a.log.format {
	case "json":
	case "console", "auto":
		if a.log.format == "console" || a.screen.terminal {
			out = zerolog.ConsoleWriter{Out: to, NoColor: !a.screen.colour, TimeFormat: "15:04:05.000"}
		}
	default:
		return nil, usagef("--log-format %q: expected json, console or auto; try: sidestep --help", a.log.format)
	}
	zerolog.TimeFieldFormat = logTime
	log := zerolog.New(out).Level(level).With().Timestamp().Logger()
	return slog.New(zerolog.NewSlogHandler(log)), nil
}
