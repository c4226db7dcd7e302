package simulate

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"sidestep/pkg/engine"
	"sidestep/pkg/override"
)

// override is override set KIND TARGET [VALUE] or override clear TARGET, as on the
// command line.
func (p *parser) override(_ string, words []string) (action, error) {
	isSet, rest, err := oneOf(words, "set", "clear")
	if err != nil {
		return nil, err
	}
	if !isSet {
		return p.clear("", rest)
	}
	flags := newSetFlags()
	args, err := flags.parse(rest)
	if err != nil {
		return nil, err
	}
	if len(args) < 2 {
		return nil, errors.New("expected set KIND TARGET [VALUE]")
	}
	return p.set(override.Kind(args[0]), args[1], args[2:], flags)
}

// drain is drain or undrain TARGET.
func (p *parser) drain(verb string, words []string) (action, error) {
	if verb == "undrain" {
		return p.clear(override.Drain, words)
	}
	flags := newSetFlags()
	args, err := flags.parse(words)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		return nil, errors.New("expected a TARGET, got nothing")
	}
	return p.set(override.Drain, args[0], args[1:], flags)
}

// freeze is freeze or unfreeze [TARGET].
func (p *parser) freeze(verb string, words []string) (action, error) {
	if verb == "unfreeze" {
		if len(words) == 0 {
			words = []string{"all"}
		}
		return p.clear(override.Freeze, words)
	}
	flags := newSetFlags()
	args, err := flags.parse(words)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		args = []string{"all"}
	}
	return p.set(override.Freeze, args[0], args[1:], flags)
}

// setFlags are those of every command that sets an override.
type setFlags struct {
	*pflag.FlagSet
	hold, reason, at *string
}

func newSetFlags() setFlags {
	f := setFlags{FlagSet: newFlags()}
	f.hold = f.String("for", "", "")
	f.reason = f.String("reason", "", "")
	f.at = f.String("at", "", "")
	return f
}

func newFlags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

// parse reads flags wherever they stand, and gives the other words.
func (f setFlags) parse(words []string) ([]string, error) { return parseFlags(f.FlagSet, words) }

func parseFlags(flags *pflag.FlagSet, words []string) ([]string, error) {
	err := flags.Parse(words)
	if errors.Is(err, pflag.ErrHelp) {
		err = errors.New("unknown flag: --help")
	}
	return flags.Args(), err
}

// set makes the override, and asks an engine of this config whether it has a
// meaning. Its times are certain: they count from the line's own.
func (p *parser) set(kind override.Kind, target string, values []string, flags setFlags) (action, error) {
	now := nowAt(p.at)
	o := override.Override{Kind: kind, Target: target, By: "timeline", Reason: *flags.reason, Said: now.Wall, From: now.Wall}
	if len(values) > 1 {
		return nil, nothing(values[1:])
	}
	if len(values) == 1 {
		o.Values = strings.Split(values[0], ",")
	}
	if !p.names.engine.Knows(kind, target) {
		o.Target = p.names.complete(target)
	}
	if !slices.Contains(override.Kinds, kind) {
		return nil, fmt.Errorf("expected a kind, got %s; %s", shown(string(kind)), near(string(kind), kindNames()))
	}
	if *flags.hold == "" {
		return nil, errors.New("expected an end, got none: --for DURATION, or --for forever")
	}
	hold, err := override.ParseFor(*flags.hold)
	if err != nil {
		return nil, fmt.Errorf("--for: %w", err)
	}
	if *flags.at != "" {
		if o.From, err = parseAt(*flags.at, now.Wall); err != nil {
			return nil, fmt.Errorf("--at: %w", err)
		}
	}
	if hold > 0 {
		o.Until = o.From.Add(hold)
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return p.word(engine.Override{Override: o})
}

// parseAt reads when an override begins: so long after the start of the run, or
// as on the command line, by the wall clock of the run, which is UTC.
func parseAt(text string, now time.Time) (time.Time, error) {
	at, err := override.ParseAt(text, now)
	if d, noTime := ParseTime(text); noTime == nil {
		at, err = epoch.Add(d), nil
	}
	if err == nil && at.Before(now) {
		return at, fmt.Errorf("expected a time after %s, got %s", now.Sub(epoch), at.Sub(epoch))
	}
	return at, err
}

// clear is TARGET [--kind KIND]; with a kind it is of that alone.
func (p *parser) clear(kind override.Kind, words []string) (action, error) {
	flags := newFlags()
	text := (*string)(&kind)
	if kind == "" {
		flags.StringVar(text, "kind", "", "")
	}
	args, err := parseFlags(flags, words)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		return nil, errors.New("expected a TARGET, got nothing")
	}
	if kind != "" && !slices.Contains(override.Kinds, kind) {
		return nil, fmt.Errorf("--kind: expected a kind, got %s; %s", shown(*text), near(*text, kindNames()))
	}
	if err := nothing(args[1:]); err != nil {
		return nil, err
	}
	target := args[0]
	if !p.names.engine.Knows(kind, target) {
		target = p.names.complete(target)
	}
	return p.word(engine.Clear{Target: target, Kind: kind, By: "timeline"})
}

// word is a person's word that has a meaning in the config.
func (p *parser) word(ev engine.Event) (action, error) {
	if err := p.names.engine.Note(nowAt(p.at), ev).Err; err != nil {
		return nil, p.names.nearTarget(err)
	}
	return func(w *world) error { return w.say(ev) }, nil
}

func kindNames() []string {
	var names []string
	for _, k := range override.Kinds {
		names = append(names, string(k))
	}
	return names
}
