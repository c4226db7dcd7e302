package cli

import (
	"io"
	"log/slog"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
)

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
	var out io.Writer = a.screen
	switch a.log.format {
	case "json":
	case "console", "auto":
		if a.log.format == "console" || a.screen.terminal {
			out = zerolog.ConsoleWriter{Out: a.screen, NoColor: !a.screen.colour, TimeFormat: "15:04:05.000"}
		}
	default:
		return nil, usagef("--log-format %q: expected json, console or auto; try: sidestep --help", a.log.format)
	}
	zerolog.TimeFieldFormat = zerolog.TimeFormatUnixMs
	log := zerolog.New(out).Level(level).With().Timestamp().Logger()
	return slog.New(zerolog.NewSlogHandler(log)), nil
}
