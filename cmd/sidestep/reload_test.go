package main

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/lab"
	"sidestep/providers/rfc2136/rfc2136test"
)

// badConfigs are what a file may have become when the daemon is told to read it
// again; none of them may be put in force.
func badConfigs(good, secret string) []struct {
	name, text, word string // word is in the reason
	exit             int    // of validate
} {
	records := strings.Index(good, "records:")
	return []struct {
		name, text, word string
		exit             int
	}{
		{"syntax error", good + "  - {name: api.example.com, check: [web\n", "not YAML", 2},
		{"unknown key", strings.Replace(good, "fall:", "fal:", 1), `"fall"`, 2},
		{"duplicate record set", good + good[records+len("records:\n"):], "www.example.com", 2},
		{"missing secret file", strings.Replace(good, secret, "file:/nowhere/secret", 1), "/nowhere/secret", 2},
		{"no record sets", good[:records] + "records: []\n", "at least one record set", 2},
		{"half-written", good[:len(good)*2/3], "", 2},
		{"empty", "", "empty file", 2},
		{"vanished", "-", "no such file", 2},
		{"another server", strings.Replace(good, "provider: rfc2136", "provider: rfc2136\n    transfer_from: 127.0.0.1:1", 1), "transfer_from changed: that takes a restart", 0},
	}
}

// TestCase90BadReloadKeepsTheOneBefore sends SIGHUP with every kind of broken
// file, and lets a server die after each: the config before goes on to work, its
// counters go on, and status, log and validate say what is wrong.
func TestCase90BadReloadKeepsTheOneBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rfc2136test.StartBIND)
	w.interval, w.extra = 600*time.Millisecond, "guard: {max_writes: 0}"
	w.write()
	content, err := os.ReadFile(w.config)
	if err != nil {
		t.Fatal(err)
	}
	good := string(content)
	p := w.run()
	w.waitUp(2)
	for i, bad := range badConfigs(good, w.server.Key.Secret) {
		before := w.mustStatus()
		after := w.reload(p, bad.text, func(s *control.Status) bool {
			return s.Config.Refused != nil && (before.Config.Refused == nil || s.Config.Refused.After(*before.Config.Refused))
		})
		if !strings.Contains(after.Config.Error, bad.word) || !after.Config.Loaded.Equal(before.Config.Loaded) {
			t.Errorf("%s: status says %+v", bad.name, after.Config)
		}
		if !refused(after) {
			t.Errorf("%s: status says %q", bad.name, after.Notices)
		}
		for j, target := range after.Targets {
			if was := before.Targets[j]; target.Passes < was.Passes || !target.Since.Equal(was.Since) {
				t.Errorf("%s: the counters of %s began anew: %+v, were %+v", bad.name, target.ID, target, was)
			}
		}
		if code, _, errOut := w.sidestep("validate"); code != bad.exit {
			t.Errorf("%s: validate exited with %d, want %d: %s", bad.name, code, bad.exit, errOut)
		}
		w.failOverAndBack(i % 2)
	}
	if n := strings.Count(p.log.String(), "reload refused"); n != len(badConfigs(good, "")) {
		t.Errorf("%d refusals in the log", n)
	}
	before := w.mustStatus()
	after := w.reload(p, good, func(s *control.Status) bool { return s.Config.Loaded.After(before.Config.Loaded) })
	if after.Config.Error != "" || refused(after) || after.Targets[0].Passes < before.Targets[0].Passes {
		t.Errorf("after a good one: %+v, %q, %+v", after.Config, after.Notices, after.Targets[0])
	}
	if code := p.stop(t); code != 0 {
		t.Errorf("sidestep ended with %d", code)
	}
}

// refused reports whether status says of the last reload that it was.
func refused(s *control.Status) bool {
	return slices.ContainsFunc(s.Notices, func(n string) bool { return strings.Contains(n, "was refused") })
}

// reload makes the config that text, or none when it is "-", tells the daemon,
// and waits until its status shows that it looked.
func (w *world) reload(p *process, text string, looked func(*control.Status) bool) *control.Status {
	w.t.Helper()
	err := os.Remove(w.config)
	if text != "-" {
		err = os.WriteFile(w.config, []byte(text), 0o600)
	}
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		w.t.Fatal(err)
	}
	var status *control.Status
	w.wait("the config to be looked at", func() bool {
		status = w.status()
		return status != nil && looked(status)
	})
	return status
}

// failOverAndBack lets one server die and come back.
func (w *world) failOverAndBack(i int) {
	w.t.Helper()
	if err := w.backends[i].Break(lab.Refuse); err != nil {
		w.t.Fatal(err)
	}
	w.waitLive(ip(w.backends[1-i]))
	if err := w.backends[i].Mend(); err != nil {
		w.t.Fatal(err)
	}
	w.waitLive(ip(w.backends[0]), ip(w.backends[1]))
	w.waitUp(2)
}
