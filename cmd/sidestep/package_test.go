package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestPackage makes what users are given, for this machine, and unpacks and
// installs it into folders of the test's own.
func TestPackage(t *testing.T) {
	t.Parallel()
	needTool(t, "dpkg-deb")
	needTool(t, "make")
	dist := makePackage(t, root)
	deb := filepath.Join(dist, "sidestep_0.0.9~rc1+2+gabc_"+runtime.GOARCH+".deb")
	t.Run("twice the same", func(t *testing.T) { packagedTwiceTheSame(t, dist) })
	t.Run("unpacked", func(t *testing.T) { packageUnpacked(t, deb) })
	t.Run("archive", func(t *testing.T) { archiveUnpacked(t, dist) })
	t.Run("contained", func(t *testing.T) { packageContained(t, deb) })
	t.Run("installed", func(t *testing.T) { packageInstalled(t, deb) })
}

// needTool skips where a program is missing, and fails where none may be.
func needTool(t *testing.T, name string) {
	t.Helper()
	_, err := exec.LookPath(name)
	if err != nil && os.Getenv("SIDESTEP_TEST_REAL") == "require" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip("needs a program that is not here: ", err)
	}
}

// mustRun runs a command to its end and returns what it printed.
func mustRun(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func makePackage(t *testing.T, source string) (dist string) {
	t.Helper()
	dist = t.TempDir()
	mustRun(t, "make", "-C", source, "package", "DIST="+dist, "ARCHES="+runtime.GOARCH, "VERSION=v0.0.9-rc1-2-gabc", "BUILT=1790000000")
	return dist
}

// packagedTwiceTheSame packages a copy of the source that lies elsewhere, was
// written at another time, and has other rights.
func packagedTwiceTheSame(t *testing.T, dist string) {
	source := t.TempDir()
	for _, name := range []string{"Makefile", "README.md", "CHANGELOG.md", "LICENSE", "go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(source, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"cmd", "deploy", "examples", "pkg", "providers"} {
		if err := os.CopyFS(filepath.Join(source, name), os.DirFS(filepath.Join(root, name))); err != nil {
			t.Fatal(err)
		}
	}
	var sums [2]string
	for i, dir := range []string{dist, makePackage(t, source)} {
		text, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = string(text)
	}
	if sums[0] != sums[1] || strings.Count(sums[0], "\n") != 2 {
		t.Errorf("the same source makes\n%sand\n%s", sums[0], sums[1])
	}
}

// packageUnpacked looks at what the package holds.
func packageUnpacked(t *testing.T, deb string) {
	dir := t.TempDir()
	mustRun(t, "dpkg-deb", "-x", deb, dir)
	if out := mustRun(t, filepath.Join(dir, "usr/bin/sidestep"), "version"); !strings.HasPrefix(out, "sidestep v0.0.9-rc1-2-gabc (go") {
		t.Errorf("version says %q", out)
	}
	control := mustRun(t, "dpkg-deb", "-f", deb)
	for _, want := range []string{"Package: sidestep\n", "Version: 0.0.9~rc1+2+gabc\n", "Architecture: " + runtime.GOARCH + "\n"} {
		if !strings.Contains(control, want) {
			t.Errorf("the package has no %q:\n%s", want, control)
		}
	}
	for line := range strings.SplitSeq(strings.TrimSpace(mustRun(t, "dpkg-deb", "-c", deb)), "\n") {
		if !regexp.MustCompile(`^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x) root/root .*\./`).MatchString(line) {
			t.Errorf("the package has %s", line)
		}
	}
	for _, page := range []string{"man1/sidestep.1", "man1/sidestep-override-set.1", "man5/sidestep.yaml.5"} {
		if out := mustRun(t, "zgrep", "^.TH .* \"2026-09-21\" \"sidestep v0.0.9", filepath.Join(dir, "usr/share/man", page+".gz")); out == "" {
			t.Errorf("%s has no title", page)
		}
	}
	const doc = "usr/share/doc/sidestep/"
	for name, want := range map[string]string{
		"usr/lib/systemd/system/sidestep.service":           "Type=notify",
		"usr/lib/systemd/system/sidestep-reconcile.service": "Type=oneshot",
		"usr/lib/systemd/system/sidestep-reconcile.timer":   "[Timer]",
		"usr/lib/sysusers.d/sidestep.conf":                  "u sidestep",
		"usr/share/bash-completion/completions/sidestep":    "__start_sidestep",
		"usr/share/zsh/vendor-completions/_sidestep":        "#compdef sidestep",
		"usr/share/fish/vendor_completions.d/sidestep.fish": "complete",
		doc + "sbom.txt":                        "github.com/miekg/dns\tv",
		doc + "THIRD-PARTY-LICENSES":            "==== github.com/miekg/dns v",
		doc + "LICENSE":                         "Apache License",
		doc + "copyright":                       "Apache-2.0",
		doc + "icmp.conf":                       "CAP_NET_RAW",
		doc + "README.md":                       "# sidestep",
		doc + "examples/local-zone/config.yaml": "zones:",
		doc + "CONFIG.md":                       "# The config file",
		doc + "CHANGELOG.md":                    "# Changelog",
		doc + "METRICS.md":                      "# Metrics",
		doc + "API.md":                          "# The control API",
		doc + "prometheus/alerts.yaml":          "SidestepNoLeader",
		doc + "grafana/sidestep.json":           "sidestep_leader",
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s has no %q (%d bytes, %v)", name, want, len(text), err)
		}
	}
}

// archiveUnpacked runs what the archive holds.
func archiveUnpacked(t *testing.T, dist string) {
	dir, name := t.TempDir(), "sidestep_v0.0.9-rc1-2-gabc_linux_"+runtime.GOARCH
	mustRun(t, "tar", "-C", dir, "-xzf", filepath.Join(dist, name+".tar.gz"))
	if out := mustRun(t, filepath.Join(dir, name, "sidestep"), "version"); !strings.HasPrefix(out, "sidestep v0.0.9-rc1-2-gabc (go") {
		t.Errorf("version says %q", out)
	}
	for _, file := range []string{"LICENSE", "THIRD-PARTY-LICENSES", "sbom.txt", "README.md", "completions/_sidestep", "man/man1/sidestep.1.gz", "systemd/sidestep.service", "examples/local-zone/config.yaml"} {
		if _, err := os.Stat(filepath.Join(dir, name, file)); err != nil {
			t.Error(err)
		}
	}
}

// packageInstalled lets dpkg install, upgrade and purge the package in a system of
// its own, with its scripts. The state goes with the purge, the config stays.
func packageInstalled(t *testing.T, deb string) {
	if os.Geteuid() != 0 && os.Getenv("SIDESTEP_TEST_REAL") != "require" {
		t.Skip("needs root, as dpkg does")
	}
	needTool(t, "dpkg")
	needTool(t, "systemd-sysusers")
	dir := t.TempDir()
	for _, sub := range []string{"etc", "var/lib/dpkg"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dpkg := func(args ...string) string {
		return mustRun(t, "dpkg", append([]string{"--root=" + dir, "--force-script-chrootless", "--force-depends", "--log=" + dir + "/dpkg.log"}, args...)...)
	}
	if out := dpkg("--install", deb); !strings.Contains(out, "systemctl enable --now sidestep") {
		t.Errorf("the installation does not say how to go on:\n%s", out)
	}
	users, err := os.ReadFile(filepath.Join(dir, "etc/passwd"))
	if err != nil || !strings.Contains(string(users), "sidestep:") {
		t.Errorf("the users are %q, %v", users, err)
	}
	if out := dpkg("--verify", "sidestep"); out != "" {
		t.Errorf("dpkg finds what is installed changed:\n%s", out)
	}
	state := filepath.Join(dir, "var/lib/private/sidestep")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "etc/sidestep/sidestep.yaml")
	writeAll(t, filepath.Dir(config), map[string]string{"sidestep.yaml": "zones: []\n"})
	if out := dpkg("--install", deb); strings.Contains(out, "not started") {
		t.Errorf("an upgrade tells what a first installation does:\n%s", out)
	}
	if out := dpkg("--remove", "sidestep"); !strings.Contains(out, "sidestep release ZONE") {
		t.Errorf("the removal does not say what stays in the zone:\n%s", out)
	}
	if _, err := os.Stat(state); err != nil {
		t.Errorf("the state is gone before the purge: %v", err)
	}
	dpkg("--purge", "sidestep")
	if _, err := os.Stat(state); !os.IsNotExist(err) {
		t.Errorf("the state is still there after the purge: %v", err)
	}
	if _, err := os.Stat(config); err != nil {
		t.Errorf("the config did not stay: %v", err)
	}
}
