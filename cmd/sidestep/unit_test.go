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
	unitFile    = "../../deploy/systemd/sidestep.service"
	oneShotFile = "../../deploy/systemd/sidestep-reconcile.service"
	timerFile   = "../../deploy/systemd/sidestep-reconcile.timer"
	dropInFile  = "../../deploy/systemd/icmp.conf"
	usersFile   = "../../deploy/systemd/sysusers.conf"
)

// unitIn reads the unit in a file.
func unitIn(t *testing.T, file string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return readUnit(t, string(text))
}

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
			t.Fatalf("line %d: %q is neither a section nor a setting in one", number+1, line)
		}
		unit[section+"."+key] = append(unit[section+"."+key], value)
	}
	return unit
}

// TestCase95Unit holds the unit to what a start before the network, or a crash
// in a loop, must not do: stay dead.
func TestCase95Unit(t *testing.T) {
	unit := unitIn(t, unitFile)
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
		"Service.RuntimeDirectoryMode":   "0750",
		"Service.DynamicUser":            "yes",
		"Service.User":                   "sidestep",
		"Service.Group":                  "sidestep",
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
	// A signal would not wait, and systemctl reload succeed whatever became of it
	// (systemd.service(5), ExecReload=).
	if got := unit["Service.ExecReload"]; !slices.Equal(got, []string{"/usr/bin/sidestep reload --config /etc/sidestep/sidestep.yaml"}) {
		t.Errorf("Service.ExecReload is %q", got)
	}
	// With private users SO_PEERCRED shows every peer of the control socket as
	// nobody, and overrides lose the name of who asked for them.
	if got := unit["Service.PrivateUsers"]; got != nil {
		t.Errorf("Service.PrivateUsers is %q, want it unset", got)
	}
}

// TestUnitsShareWhatTheyMay holds the one-shot's unit to what the daemon's has:
// the same user, state and fences, and nothing that would end the daemon's.
func TestUnitsShareWhatTheyMay(t *testing.T) {
	daemons, oneShots := unitIn(t, unitFile), unitIn(t, oneShotFile)
	differs := map[string]string{
		"Unit.Documentation": "man:sidestep-reconcile(1) man:sidestep.yaml(5)",
		"Unit.Description":   "sidestep, one round of health checks that steer DNS records",
		"Service.Type":       "oneshot", "Service.ExecStart": "/usr/bin/sidestep reconcile --config /etc/sidestep/sidestep.yaml",
		"Service.SuccessExitStatus": "6", "Service.TimeoutStartSec": "15min",
		"Service.ExecReload": "", "Service.Restart": "", "Service.RestartSec": "", "Service.WatchdogSec": "", "Install.WantedBy": "",
		// systemd removes it when the unit ends, and the daemon's socket with it.
		"Service.RuntimeDirectory": "", "Service.RuntimeDirectoryMode": "",
	}
	for _, unit := range []map[string][]string{daemons, oneShots} {
		for key := range unit {
			want, other := daemons[key], differs[key]
			if _, is := differs[key]; is {
				want = nil
			}
			if other != "" {
				want = []string{other}
			}
			if got := oneShots[key]; !slices.Equal(got, want) {
				t.Errorf("%s: %s is %q, want %q", oneShotFile, key, got, want)
			}
		}
	}
}

// TestCase95Timer holds the timer to come again, whatever became of a round.
func TestCase95Timer(t *testing.T) {
	timer := unitIn(t, timerFile)
	for key, value := range map[string]string{"Timer.OnBootSec": "30s", "Timer.OnUnitInactiveSec": "1min", "Install.WantedBy": "timers.target"} {
		if got := timer[key]; !slices.Equal(got, []string{value}) {
			t.Errorf("%s is %q, want %q", key, got, value)
		}
	}
}

// systemd runs a program of systemd's, and fails the test when that does.
func systemd(t *testing.T, program string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil && os.Getenv("SIDESTEP_TEST_REAL") == "require" {
		t.Fatal(err)
	} else if err != nil {
		t.Skipf("needs %s of the package systemd: %v", program, err)
	}
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v: %s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestUnitIsHardened asks systemd itself; 1.5 of 10 is the promised limit.
func TestUnitIsHardened(t *testing.T) {
	for _, file := range []string{unitFile, oneShotFile, withDropIn(t, unitFile), withDropIn(t, oneShotFile)} {
		out := systemd(t, "systemd-analyze", "security", "--offline=true", "--threshold=15", "--no-pager", file)
		if strings.Contains(out, "Unknown ") {
			t.Errorf("%s: systemd does not know a setting: %s", file, out)
		}
	}
}

// TestUnitsAreVerified lets systemd load the units, with this program for the one
// that is not installed: it has nothing to say.
func TestUnitsAreVerified(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"verify", "--man=no"}
	dir := t.TempDir()
	for _, file := range []string{withDropIn(t, unitFile), withDropIn(t, oneShotFile), timerFile} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.Base(file))
		text = []byte(strings.ReplaceAll(string(text), "/usr/bin/sidestep", self))
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	for line := range strings.Lines(systemd(t, "systemd-analyze", args...)) {
		if strings.Contains(line, "sidestep") { // others are about units of the machine that ours wait for
			t.Errorf("systemd-analyze verify says: %s", line)
		}
	}
}

// TestUnitHasItsUser lets systemd make the user of the units, whose group may use
// the control socket: a group of that name without a user would make the service
// fail (systemd.exec(5), User=).
func TestUnitHasItsUser(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := filepath.Abs(usersFile)
	if err != nil {
		t.Fatal(err)
	}
	systemd(t, "systemd-sysusers", "--root="+root, file)
	for _, name := range []string{"passwd", "group"} {
		text, err := os.ReadFile(filepath.Join(root, "etc", name))
		if err != nil || !strings.Contains("\n"+string(text), "\nsidestep:") {
			t.Errorf("%s has no sidestep: %q, %v", name, text, err)
		}
	}
}

// withDropIn writes a unit as systemd reads it together with the drop-in for
// ICMP checks.
func withDropIn(t *testing.T, unit string) string {
	t.Helper()
	var text []byte
	for _, file := range []string{unit, dropInFile} {
		part, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, part...)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(unit))
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
