package cli

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"
)

// logFlags is how the log is written. It goes to stderr.
type logFlags struct {
	level  string
	format string
}

func (f *logFlags) bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.level, "log-level", "info", "log lines of this `LEVEL` and above: debug, info, warn, error")
	flags.StringVar(&f.format, "log-format", "auto", "`FORM` of the log: json, console, auto (console on a terminal)")
}

// logger makes the log. quiet raises its level to warnings, for commands whose
// answer is what matters; an explicit --log-level wins.
func (a *app) logger(quiet bool) (*slog.Logger, error) {
	level, err := zerolog.ParseLevel(a.log.level)
	if err != nil || level < zerolog.DebugLevel || level > zerolog.ErrorLevel {
		return nil, usagef("--log-level %q: expected debug, info, warn or error; try: sidestep --help", a.log.level)
	}
	if quiet && level == zerolog.InfoLevel {
		level = zerolog.WarnLevel
	}
	out := a.io.Err
	switch a.log.format {
	case "json":
	case "console", "auto":
		if a.log.format == "console" || a.terminal() {
			out = zerolog.ConsoleWriter{Out: a.io.Err, NoColor: !a.colour(), TimeFormat: "15:04:05.000"}
		}
	default:
		return nil, usagef("--log-format %q: expected json, console or auto; try: sidestep --help", a.log.format)
	}
	zerolog.TimeFieldFormat = zerolog.TimeFormatUnixMs
	log := zerolog.New(out).Level(level).With().Timestamp().Logger()
	return slog.New(zerolog.NewSlogHandler(log)), nil
}

// terminal reports whether stderr is one.
func (a *app) terminal() bool {
	file, ok := a.io.Err.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// colour obeys NO_COLOR (no-color.org) and TERM=dumb.
func (a *app) colour() bool {
	return a.terminal() && a.io.Getenv("NO_COLOR") == "" && a.io.Getenv("TERM") != "dumb"
}

// progress tells a terminal how far long work is, each line over the one
// before. Elsewhere it is silent: a log is no place for it.
func (a *app) progress(format string, args ...any) {
	if a.terminal() {
		fmt.Fprintf(a.io.Err, "\r\x1b[K"+format, args...)
	}
}

// progressDone clears the line.
func (a *app) progressDone() {
	if a.terminal() {
		fmt.Fprint(a.io.Err, "\r\x1b[K")
	}
}
