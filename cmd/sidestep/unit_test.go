package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	unitFile   = "../../deploy/systemd/sidestep.service"
	dropInFile = "../../deploy/systemd/icmp.conf"
)

// readUnit reads a unit file into "Section.Key" and its values, in order.
func readUnit(t *testing.T, text string) map[string][]string {
	t.Helper()
	unit, section := map[string][]string{}, ""
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if name, isSection := strings.CutPrefix(line, "["); isSection {
			section = strings.TrimSuffix(name, "]")
			continue
		}
		key, value, found := strings.Cut(line, "=")
		if !found || section == "" || key != strings.TrimSpace(key) {
			t.Fatalf("%s:%d: %q is neither a section nor a setting in one", unitFile, number+1, line)
		}
		unit[section+"."+key] = append(unit[section+"."+key], value)
	}
	return unit
}

// TestCase95Unit holds the unit to what a start before the network, or a crash
// in a loop, must not do: stay dead.
func TestCase95Unit(t *testing.T) {
	text, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	unit := readUnit(t, string(text))
	want := map[string]string{
		"Unit.Wants":                     "network-online.target",
		"Unit.After":                     "network-online.target nss-lookup.target time-sync.target",
		"Unit.StartLimitIntervalSec":     "0",
		"Service.Type":                   "notify",
		"Service.ExecStart":              "/usr/bin/sidestep run --config /etc/sidestep/sidestep.yaml",
		"Service.Restart":                "on-failure",
		"Service.WatchdogSec":            "30s",
		"Service.StateDirectory":         "sidestep",
		"Service.RuntimeDirectory":       "sidestep",
		"Service.TimeoutStopSec":         "30",
		"Service.AmbientCapabilities":    "",
		"Service.CapabilityBoundingSet":  "",
		"Install.WantedBy":               "multi-user.target",
		"Service.MemoryDenyWriteExecute": "yes",
	}
	for key, value := range want {
		if got := unit[key]; !slices.Equal(got, []string{value}) {
			t.Errorf("%s is %q, want %q", key, got, value)
		}
	}
	// systemctl reload fails on a bad config, and the daemon is not told of it:
	// a command that fails ends the list (systemd.service(5)).
	if got := unit["Service.ExecReload"]; !slices.Equal(got, []string{
		"/usr/bin/sidestep validate --config /etc/sidestep/sidestep.yaml", "/bin/kill -HUP $MAINPID",
	}) {
		t.Errorf("Service.ExecReload is %q", got)
	}
	// With private users SO_PEERCRED shows every peer of the control socket as
	// nobody, and overrides lose the name of who asked for them.
	if got := unit["Service.PrivateUsers"]; got != nil {
		t.Errorf("Service.PrivateUsers is %q, want it unset", got)
	}
}

// TestUnitIsHardened asks systemd itself; 1.5 of 10 is the promised limit.
func TestUnitIsHardened(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil && os.Getenv("SIDESTEP_TEST_REAL") == "require" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip("needs systemd-analyze of the package systemd: ", err)
	}
	for _, file := range []string{unitFile, withDropIn(t)} {
		out, err := exec.CommandContext(t.Context(), analyze, "security", "--offline=true", "--threshold=15", "--no-pager", file).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", file, err, out)
		}
		if strings.Contains(string(out), "Unknown ") {
			t.Errorf("%s: systemd does not know a setting: %s", file, out)
		}
	}
}

// withDropIn writes the unit as systemd reads it together with the drop-in for
// ICMP checks.
func withDropIn(t *testing.T) string {
	t.Helper()
	var text []byte
	for _, file := range []string{unitFile, dropInFile} {
		part, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, part...)
	}
	path := filepath.Join(t.TempDir(), "sidestep.service")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCase17UnitSaysWhatICMPNeeds holds the files to what a user of ICMP checks
// looks for: the sysctl, and the capability as the unit's own keys.
func TestCase17UnitSaysWhatICMPNeeds(t *testing.T) {
	unit, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	dropIn, err := os.ReadFile(dropInFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"net.ipv4.ping_group_range", "CAP_NET_RAW", filepath.Base(dropInFile)} {
		if !strings.Contains(string(unit), word) {
			t.Errorf("%s does not name %s", unitFile, word)
		}
	}
	if !strings.Contains(string(dropIn), "net.ipv4.ping_group_range = 0 2147483647") {
		t.Errorf("%s does not say how the sysctl is set", dropInFile)
	}
	settings := readUnit(t, string(dropIn))
	for _, key := range []string{"Service.AmbientCapabilities", "Service.CapabilityBoundingSet"} {
		if got := settings[key]; !slices.Equal(got, []string{"CAP_NET_RAW"}) {
			t.Errorf("%s is %q, want CAP_NET_RAW and nothing else", key, got)
		}
	}
	if len(settings) != 2 {
		t.Errorf("the drop-in sets more: %v", settings)
	}
}
