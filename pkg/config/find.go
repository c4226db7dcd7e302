package config

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// Paths is where a config is looked for when none is named, in this order.
var Paths = [...]string{"/etc/sidestep/sidestep.yaml", "./sidestep.yaml"}

// envPrefix begins the environment variable of every flag: --take-over is
// SIDESTEP_TAKE_OVER.
const envPrefix = "SIDESTEP"

// Environment answers for flags from the command line and from environment
// variables. It has a name here so that no other room needs viper.
type Environment = viper.Viper

// NewEnvironment makes one for a single command line, with nothing bound yet.
func NewEnvironment() *Environment { return viper.New() }

// BindFlags gives every flag that was not set on the command line the value of
// its environment variable, SIDESTEP_ and the flag's name in upper case with
// underscores. It is called after the flags were parsed, and leaves v able to
// answer for them (Find). The command line wins over the environment; keys of
// the config file are never touched. An empty variable counts as unset, and
// those of --help and --version are not asked: containers set SIDESTEP_VERSION.
func BindFlags(flags *pflag.FlagSet, v *Environment) error {
	v.SetEnvPrefix(envPrefix)
	v.SetEnvKeyReplacer(strings.NewReplacer("-", "_"))
	var problems []error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != "version" {
			problems = append(problems, bindFlag(flags, v, f))
		}
	})
	return errors.Join(problems...)
}

func bindFlag(flags *pflag.FlagSet, v *Environment, f *pflag.Flag) error {
	if err := v.BindEnv(f.Name); err != nil {
		return fmt.Errorf("bind flag --%s: %w", f.Name, err)
	}
	if !f.Changed && v.IsSet(f.Name) {
		if err := flags.Set(f.Name, v.GetString(f.Name)); err != nil {
			name := envPrefix + "_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
			return fmt.Errorf("read environment variable %s: %w", name, err)
		}
	}
	if err := v.BindPFlag(f.Name, f); err != nil {
		return fmt.Errorf("bind flag --%s: %w", f.Name, err)
	}
	return nil
}

// Find tells which config file is meant: the one that the flag --config or
// SIDESTEP_CONFIG names, whether or not it is there, else the first of Paths
// that exists.
func Find(v *Environment) (string, error) {
	return find(v, Paths[:])
}

func find(v *Environment, paths []string) (string, error) {
	if path := v.GetString("config"); path != "" {
		return path, nil
	}
	for _, path := range paths {
		switch _, err := os.Stat(path); {
		case err == nil:
			return path, nil
		case !errors.Is(err, os.ErrNotExist):
			return "", fmt.Errorf("find config: %w; give --config FILE", err)
		}
	}
	return "", fmt.Errorf("find config: neither of %s exists; give --config FILE, or try \"sidestep demo\"",
		strings.Join(paths, " and "))
}
