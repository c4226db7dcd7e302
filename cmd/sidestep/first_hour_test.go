package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider/providertest/realserver"
)

// shown is a command of a page, and what the page says that it prints.
type shown struct {
	command string
	lines   []string
}

// shownIn reads the indented blocks of a page that begin with a command.
func shownIn(page string) (list []shown) {
	inside := false
	for line := range strings.SplitSeq(page, "\n") {
		code, indented := strings.CutPrefix(line, "    ")
		command, begins := strings.CutPrefix(code, "$ ")
		switch {
		case indented && begins:
			list, inside = append(list, shown{command: command}), true
		case indented && inside:
			last := &list[len(list)-1]
			last.lines = append(last.lines, code)
		case line != "":
			inside = false
		}
	}
	return list
}

var vary = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d`), "TIME"},
	{regexp.MustCompile(`\bby [^ :]+`), "by SOMEBODY"},
	{regexp.MustCompile(`within \d+s as a rule, \d+s at worst`), "within so long"},
	{regexp.MustCompile(` +`), " "},
}

// steady is a text without what is another each time.
func steady(text string) string {
	for _, v := range vary {
		text = v.pattern.ReplaceAllString(text, v.by)
	}
	return text
}

// follows reports whether a command printed the lines of a page in their order, with
// others only where the page leaves some out. Empty lines do not count.
func follows(lines []string, printed string) bool {
	var pattern strings.Builder
	for _, line := range lines {
		if line == "..." {
			pattern.WriteString(`(.*\n)*?`)
			continue
		}
		pattern.WriteString(regexp.QuoteMeta(strings.TrimSpace(steady(line))) + `\n`)
	}
	var got strings.Builder
	for line := range strings.SplitSeq(printed, "\n") {
		if line != "" {
			got.WriteString(strings.TrimSpace(steady(line)) + "\n")
		}
	}
	return regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(got.String())
}

// TestFirstHour does what the page says, command by command, and sees what it shows.
func TestFirstHour(t *testing.T) {
	t.Parallel()
	realserver.Require(t, "dig", "bind9-dnsutils")
	text, err := os.ReadFile(filepath.Join(root, "examples/first-hour.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	dir := shortDir(t)
	for _, said := range []string{"    bin/sidestep demo --dir /tmp/hour\n", "SIDESTEP_CONFIG=/tmp/hour/sidestep.yaml\n"} {
		if !strings.Contains(page, said) {
			t.Errorf("the page does not say %q", said)
		}
	}
	demo := startBy(t, "sidestep", nil, dir, "demo", "--dir", "hour")
	var said string
	for !strings.Contains(said, "Ctrl-C ends it all.") {
		line, err := demo.stdout.ReadString('\n')
		if err != nil {
			t.Fatalf("%v after:\n%s", err, said)
		}
		said += line
	}
	go func() { _, _ = io.Copy(io.Discard, demo.stdout) }()
	dns := regexp.MustCompile(`served at 127\.0\.0\.1:(\d+)`).FindStringSubmatch(said)
	lab := regexp.MustCompile(`http://127\.0\.0\.1:(\d+)/break`).FindStringSubmatch(said)
	if dns == nil || lab == nil {
		t.Fatalf("the demo says no ports:\n%s", said)
	}
	ports := strings.NewReplacer("-p 5300 ", "-p "+dns[1]+" ", "127.0.0.1:8100/", "127.0.0.1:"+lab[1]+"/")
	commands := shownIn(page)
	if len(commands) < 15 {
		t.Fatalf("the page has only %d commands", len(commands))
	}
	for _, c := range commands {
		see(t, dir, c, ports.Replace(c.command))
	}
}

var looking = regexp.MustCompile(`^(dig|sidestep (status|explain|history|rto)) |--dry-run`)

// see runs a command until it prints what a page shows. One that changes something
// is run once.
func see(t *testing.T, dir string, c shown, command string) {
	t.Helper()
	if url, posts := strings.CutPrefix(command, "curl -X POST "); posts {
		post(t, strings.Trim(url, "'"))
		return
	}
	looks := looking.MatchString(command)
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "SIDESTEP_CONFIG="+filepath.Join(dir, "hour/sidestep.yaml"))
		out, err := cmd.Output()
		if follows(c.lines, string(out)) {
			return
		}
		if !looks || time.Now().After(end) {
			t.Fatalf("%s: %v, printed\n%s\nthe page shows\n%s", command, err, out, strings.Join(c.lines, "\n"))
		}
	}
}
