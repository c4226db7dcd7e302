package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/lab"
)

const root = "../.."

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// between cuts out what stands after one line and before another.
func between(t *testing.T, text, after, before string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, after+"\n")
	block, _, ends := strings.Cut(rest, before+"\n")
	if !found || !ends {
		t.Fatalf("the README has nothing between %q and %q", after, before)
	}
	return block
}

// sidestepIn runs a command in a directory to its end.
func sidestepIn(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := exec.Command("sidestep", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, cmd)
	return cmd.ProcessState.ExitCode(), out.String(), errOut.String()
}

// TestREADMEConfig validates the first config, letter by letter but for where
// its secret lies.
func TestREADMEConfig(t *testing.T) {
	const secret = "/etc/sidestep/tsig.secret"
	block := between(t, readme(t), "```yaml", "```")
	if strings.Count(block, secret) != 1 {
		t.Fatalf("the config does not name %s once", secret)
	}
	dir := shortDir(t)
	writeAll(t, dir, map[string]string{
		"sidestep.yaml": strings.Replace(block, secret, filepath.Join(dir, "secret"), 1),
		"secret":        "c2VjcmV0IG9mIHRoZSBSRUFETUUgZm9yIHRlc3Rz\n",
	})
	code, out, errOut := sidestepIn(t, dir, "validate", "--config", "sidestep.yaml")
	if code != 0 || strings.Contains(out, "warning") || errOut != "" {
		t.Errorf("validate exited with %d:\n%s%s", code, out, errOut)
	}
}

// TestREADMEEtcd validates the first config with the lock in etcd of the README.
func TestREADMEEtcd(t *testing.T) {
	const secret = "/etc/sidestep/tsig.secret"
	text := readme(t)
	first, etcd := between(t, text, "```yaml", "```"), between(t, text[strings.Index(text, "## Two nodes"):], "```yaml", "```")
	dir := shortDir(t)
	writeAll(t, dir, map[string]string{
		"sidestep.yaml": strings.Replace(first, secret, filepath.Join(dir, "secret"), 1) + etcd,
		"secret":        "c2VjcmV0IG9mIHRoZSBSRUFETUUgZm9yIHRlc3Rz\n",
	})
	code, out, errOut := sidestepIn(t, dir, "validate", "--config", "sidestep.yaml")
	if code != 0 || strings.Contains(out, "warning") || errOut != "" || !strings.Contains(out, "a leader that dies is replaced within 35s") {
		t.Errorf("validate exited with %d:\n%s%s", code, out, errOut)
	}
}

// TestREADMEKey makes a key by the commands of the README, and lets BIND read
// the part of named.conf.
func TestREADMEKey(t *testing.T) {
	for _, tool := range []string{"tsig-keygen", "named-checkconf"} {
		_, err := exec.LookPath(tool)
		if err != nil && os.Getenv("SIDESTEP_TEST_REAL") == "require" {
			t.Fatal(err)
		} else if err != nil {
			t.Skip("needs BIND: ", err)
		}
	}
	dir := shortDir(t)
	text := readme(t)
	commands := between(t, text, "and make a key:\n", "\nGive the key the right to transfer the zone and to update it, in `named.conf`:")
	script := strings.ReplaceAll(commands, "/etc/sidestep/", dir+"/")
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	secret, err := os.ReadFile(filepath.Join(dir, "tsig.secret"))
	if err != nil || !regexp.MustCompile(`^[A-Za-z0-9+/]{43}=\n$`).Match(secret) {
		t.Errorf("the secret is %q, %v", secret, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "tsig.secret")); err != nil || info.Mode().Perm()&0o007 != 0 {
		t.Errorf("everybody may read the secret: %v, %v", info.Mode(), err)
	}
	conf := between(t, text, "in `named.conf`:\n", "\n`/etc/sidestep/sidestep.yaml`, readable by you alone:")
	conf = strings.ReplaceAll(conf, "/etc/bind/", dir+"/")
	writeAll(t, dir, map[string]string{"named.conf": conf})
	if out, err := exec.Command("named-checkconf", filepath.Join(dir, "named.conf")).CombinedOutput(); err != nil {
		t.Errorf("named-checkconf: %v: %s", err, out)
	}
}

var (
	linkedFile = regexp.MustCompile(`\]\(([^)]+)\)`)
	quotedFile = regexp.MustCompile("`((?:pkg|examples|deploy|cmd|providers)/[^`]*)`")
	makeTarget = regexp.MustCompile("(?m)^    make ([a-z]+)|`make ([a-z]+)")
)

func TestREADMENamesWhatIsThere(t *testing.T) {
	text := readme(t)
	for _, pattern := range []*regexp.Regexp{linkedFile, quotedFile} {
		matches := pattern.FindAllStringSubmatch(text, -1)
		if len(matches) == 0 {
			t.Errorf("nothing matches %s", pattern)
		}
		for _, m := range matches {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Error(err)
			}
		}
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, m := range makeTarget.FindAllStringSubmatch(text, -1) {
		target := m[1] + m[2]
		targets = append(targets, target)
		if !regexp.MustCompile(`(?m)^` + target + `:`).Match(makefile) {
			t.Errorf("the Makefile has no target %s", target)
		}
	}
	for _, want := range []string{"demo", "test", "build"} {
		if !slices.Contains(targets, want) {
			t.Errorf("the README does not name make %s", want)
		}
	}
}

var (
	tableRow  = regexp.MustCompile("(?m)^\\| [^|]+ \\| ([^|]*`[^|]*) \\| ([^|]+) \\|$")
	quotedKey = regexp.MustCompile("`([a-z_]+(?:\\[\\])?\\.[^`]+)`")
)

// TestREADMEDecisions looks up the keys that the table names: each is one of the
// config, and the example of its row has it.
func TestREADMEDecisions(t *testing.T) {
	reference, err := os.ReadFile(filepath.Join(root, "pkg/config/CONFIG.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := tableRow.FindAllStringSubmatch(between(t, readme(t), "## What it can decide by", "## Rehearse"), -1)
	named := ""
	for _, row := range rows {
		example := ""
		if folder := quotedFile.FindStringSubmatch(row[2]); folder != nil {
			for _, name := range []string{"config.yaml", "README.md"} {
				text, err := os.ReadFile(filepath.Join(root, folder[1], name))
				if err != nil {
					t.Fatal(err)
				}
				example += string(text)
			}
		}
		for _, key := range quotedKey.FindAllStringSubmatch(row[1], -1) {
			named += key[1] + " "
			last := key[1][strings.LastIndex(key[1], ".")+1:]
			if !bytes.Contains(reference, []byte("| `"+key[1]+"` |")) {
				t.Errorf("CONFIG.md has no key %s", key[1])
			}
			if example != "" && !strings.Contains(example, last+":") {
				t.Errorf("%s has no %s", row[2], last)
			}
		}
	}
	for _, word := range []string{"signals", "scenarios", "return", "failback", "dr", "mass", "cooldown"} {
		if !strings.Contains(named, word) {
			t.Errorf("no row names %s: %s", word, named)
		}
	}
}

// TestREADMEStatus compares what the README says a user will see with what one
// sees: every line of it has to be there, but for addresses and the provider.
func TestREADMEStatus(t *testing.T) {
	promised := between(t, readme(t), "    $ sidestep status", "\nA paused value is a readable TXT record below the name, so that nothing is lost")
	list, err := startLab(2)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range list {
		t.Cleanup(func() { _ = b.Close() })
	}
	if err := list[0].Break(lab.Refuse); err != nil {
		t.Fatal(err)
	}
	dir := startLocalDaemon(t, list)
	names := strings.NewReplacer("203.0.113.10", "IP1", "203.0.113.20", "IP2", "rfc2136", "PROVIDER",
		hostOf(list[0]), "IP1", hostOf(list[1]), "IP2", "local ", "PROVIDER ")
	var missing, out string
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		_, out, _ = sidestepIn(t, dir, "status")
		if missing = missingLine(names.Replace(promised), names.Replace(out)); missing == "" || time.Now().After(end) {
			break
		}
	}
	if missing != "" {
		t.Errorf("status has no line %q:\n%s", missing, out)
	}
	zone, err := os.ReadFile(filepath.Join(dir, "example.com.zone"))
	if err != nil {
		t.Fatal(err)
	}
	copied := regexp.MustCompile(`(?m)^    (_sidestep-paused\.\S+)\s+TXT\s+"([^"]+)"$`).FindStringSubmatch(readme(t))
	if copied == nil {
		t.Fatal("the README shows no paused copy")
	}
	for _, part := range []string{strings.TrimSuffix(copied[1], ".example.com."), copied[2], "_sidestep"} {
		if !strings.Contains(names.Replace(string(zone)), names.Replace(part)) {
			t.Errorf("the zone has no %s:\n%s", part, zone)
		}
	}
}

// missingLine is the first line of a text that is not in another, however the
// words are spaced.
func missingLine(text, in string) string {
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	var there []string
	for line := range strings.SplitSeq(in, "\n") {
		there = append(there, words(line))
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line = words(line); !slices.Contains(there, line) {
			return line
		}
	}
	return ""
}

func unindent(block string) string {
	return strings.TrimSpace(strings.ReplaceAll("\n"+block, "\n    ", "\n")) + "\n"
}

// TestREADMERTO compares how long a switch takes with the first config, without its
// secret, with what the README shows.
func TestREADMERTO(t *testing.T) {
	text := readme(t)
	dir := shortDir(t)
	writeAll(t, dir, map[string]string{"sidestep.yaml": between(t, text, "```yaml", "```")})
	want := unindent(between(t, text, "    $ sidestep rto www.example.com", "Then come the way back, what other settings would save and at what price, and what"))
	code, out, errOut := sidestepIn(t, dir, "rto", "www.example.com", "--config", "sidestep.yaml")
	if code != 0 || !strings.HasPrefix(out, want) {
		t.Errorf("exit %d, got\n%s%s\nthe README shows\n%s", code, out, errOut, want)
	}
}

// TestREADMERehearsal plays the timeline of the README against its config, and
// compares what it says with what it shows.
func TestREADMERehearsal(t *testing.T) {
	text := readme(t)
	dir := shortDir(t)
	writeAll(t, dir, map[string]string{
		"sidestep.yaml": between(t, text, "```yaml", "```"),
		"timeline.txt":  unindent(between(t, text, "`timeline.txt`:", "it says:")),
	})
	want := unindent(between(t, text, "    $ sidestep simulate timeline.txt", "What explains an answer that did not change, such as a guard, stands on stderr."))
	code, out, errOut := sidestepIn(t, dir, "simulate", "timeline.txt", "--config", "sidestep.yaml")
	if code != 0 || out != want {
		t.Errorf("exit %d, got\n%s%s\nthe README shows\n%s", code, out, errOut, want)
	}
}
