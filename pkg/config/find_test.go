package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// flags is a command line with one flag of several types.
func flags(t *testing.T, args ...string) (*pflag.FlagSet, *Environment) {
	t.Helper()
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	set.String("config", "", "")
	set.Bool("take-over", false, "")
	set.Bool("version", false, "")
	set.Duration("for", time.Minute, "")
	set.StringSlice("zone", nil, "")
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	return set, NewEnvironment()
}

func TestEnvironmentStandsForFlags(t *testing.T) {
	t.Setenv("SIDESTEP_VERSION", "1.2.3")
	t.Setenv("SIDESTEP_TAKE_OVER", "true")
	t.Setenv("SIDESTEP_FOR", "2h")
	t.Setenv("SIDESTEP_ZONE", "a.example,b.example")
	t.Setenv("SIDESTEP_CONFIG", "/from/env.yaml")
	set, v := flags(t, "--for", "3h")
	if err := BindFlags(set, v); err != nil {
		t.Fatal(err)
	}
	if takeOver, _ := set.GetBool("take-over"); !takeOver {
		t.Error("SIDESTEP_TAKE_OVER did not set --take-over")
	}
	if d, _ := set.GetDuration("for"); d != 3*time.Hour {
		t.Errorf("--for is %s, want the command line's 3h", d)
	}
	if zones, _ := set.GetStringSlice("zone"); strings.Join(zones, " ") != "a.example b.example" {
		t.Errorf("--zone is %q", zones)
	}
	if path, err := Find(v); path != "/from/env.yaml" || err != nil {
		t.Errorf("Find = %q, %v, want that of the environment", path, err)
	}
}

func TestTheCommandLineWins(t *testing.T) {
	t.Setenv("SIDESTEP_CONFIG", "/from/env.yaml")
	set, v := flags(t, "--config", "/from/flag.yaml")
	if err := BindFlags(set, v); err != nil {
		t.Fatal(err)
	}
	if path, err := Find(v); path != "/from/flag.yaml" || err != nil {
		t.Errorf("Find = %q, %v, want that of the flag", path, err)
	}
}

func TestABadVariableIsNamed(t *testing.T) {
	t.Setenv("SIDESTEP_TAKE_OVER", "perhaps")
	set, v := flags(t)
	err := BindFlags(set, v)
	if err == nil || !strings.Contains(err.Error(), "SIDESTEP_TAKE_OVER") {
		t.Errorf("BindFlags = %v, want an error that names the variable", err)
	}
}

func TestFindTakesTheFirstThatIsThere(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first.yaml"), filepath.Join(dir, "second.yaml")
	paths := []string{first, second}
	_, err := find(NewEnvironment(), paths)
	if err == nil || !strings.Contains(err.Error(), first) || !strings.Contains(err.Error(), "--config") {
		t.Errorf("find = %v, want an error that names the places and --config", err)
	}
	for _, path := range []string{second, first} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := find(NewEnvironment(), paths); got != path || err != nil {
			t.Errorf("find = %q, %v, want %s", got, err, path)
		}
	}
}

func TestTheEnvironmentNeverReachesTheFile(t *testing.T) {
	t.Setenv("SIDESTEP_ADOPT", "auto")
	t.Setenv("ADOPT", "auto")
	if c := mustParse(t, "t.yaml", small, world()); c.Adopt != AdoptAsk {
		t.Errorf("adopt is %s: the environment changed a key of the file", c.Adopt)
	}
}
