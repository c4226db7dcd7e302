package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pages writes all pages into a folder of the test's own.
func pages(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	if err := write(dir, "../../config/CONFIG.md", "v0.9-1", "1790000000"); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) < 30 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	return files
}

// TestPagesSayWhatHelpSays looks for one of each kind of thing in the pages.
func TestPagesSayWhatHelpSays(t *testing.T) {
	text := map[string]string{}
	for _, file := range pages(t) {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text[filepath.Base(file)] = string(page)
	}
	for name, wants := range map[string][]string{
		"sidestep-override-set.1": {
			`.TH "SIDESTEP\-OVERRIDE\-SET" "1" "2026-09-21" "sidestep v0.9\-1" "sidestep"`,
			"\n.B sidestep override set KIND TARGET", "\n.TP\n\\fB\\-\\-reason\\fR \\fITEXT\\fR\n", "\n.SH EXIT STATUS\n0 ",
			"\n.PP\n.nf\ndrain       out, as planned", "\nsidestep override set drain 203.0.113.10 \\-\\-for 2h", "\\fBsidestep\\-override\\fR(1),\n",
		},
		"sidestep.1":      {"\n.TP\n\\fBsidestep\\-run\\fR(1)\nProbe, decide and write from now on\n"},
		"sidestep.yaml.5": {"\n.SH zones\n", "\n.TP\n\\fBstate.max_age\\fR (a duration)\n", "; default: \\fB15m\\fR\n"},
	} {
		for _, want := range wants {
			if !strings.Contains(text[name], want) {
				t.Errorf("%s has no %q", name, want)
			}
		}
	}
	if _, is := text["sidestep-help.1"]; is {
		t.Error("help has a page")
	}
}

// TestTextStaysText holds what roff would take for something else to be text.
func TestTextStaysText(t *testing.T) {
	p := &page{}
	p.text(".so file\n'quoted' \\fB -x\n\n  .kept  'here'\n\nlast")
	want := "\\&.so file\n\\(aqquoted\\(aq \\efB \\-x\n.PP\n.nf\n\\&.kept  \\(aqhere\\(aq\n.fi\n.PP\nlast\n"
	if got := p.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := inline("`a|-b` is **c** *d"); got != `\fBa|\-b\fR is \fBc\fR *d` {
		t.Errorf("inline made %q", got)
	}
}
