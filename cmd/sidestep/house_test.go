package main_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// drawnRoom is a line of the drawing in pkg/doc.go: spaces that say how deep,
// the name of a directory, and what it is for.
var drawnRoom = regexp.MustCompile(`^(\s+)([a-z0-9]+(?:/[a-z0-9]+)*)/(?:\s|$)`)

// drawnIsBuilt compares the drawing of the house with the packages that stand.
func drawnIsBuilt(t *tree) (breaches []string) {
	var drawn []string
	for _, f := range t.text {
		if f.path == "pkg/doc.go" {
			drawn = drawing(f.lines)
		}
	}
	for _, r := range t.packages {
		if within(r.dir, "pkg", "providers", "cmd") && !slices.Contains(drawn, r.dir) {
			breaches = append(breaches, r.dir+": not in the drawing of pkg/doc.go")
		}
	}
	for _, dir := range drawn {
		if !slices.ContainsFunc(t.packages, func(r *room) bool { return within(r.dir, dir) }) {
			breaches = append(breaches, dir+": in the drawing of pkg/doc.go but not in the tree")
		}
	}
	return breaches
}

// drawing reads the directories out of a drawing: a line that is further in
// than the one above is inside of it.
func drawing(lines []string) (dirs []string) {
	type open struct {
		depth int
		dir   string
	}
	var above []open
	for _, line := range lines {
		text, isComment := strings.CutPrefix(line, "//")
		match := drawnRoom.FindStringSubmatch(text)
		if !isComment || match == nil {
			continue
		}
		depth := len(match[1])
		for len(above) > 0 && above[len(above)-1].depth >= depth {
			above = above[:len(above)-1]
		}
		dir := match[2]
		if len(above) > 0 {
			dir = path.Join(above[len(above)-1].dir, dir)
		}
		above = append(above, open{depth, dir})
		dirs = append(dirs, dir)
	}
	return dirs
}

func TestDrawingIsRead(t *testing.T) {
	got := drawing([]string{
		"// Package pkg is a house.",
		"//",
		"//\tcmd/sidestep/   main",
		"//\tpkg/",
		"//\t  the core: values",
		"//\t    record/     names / values",
		"//\t    provider/   the contract",
		"//\t      memory/   one in memory",
		"//\t    store/",
		"package pkg",
	})
	want := []string{"cmd/sidestep", "pkg", "pkg/record", "pkg/provider", "pkg/provider/memory", "pkg/store"}
	if !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
}

func TestDrawingAndTreeAreCompared(t *testing.T) {
	project := &tree{
		packages: []*room{{dir: "pkg"}, {dir: "pkg/cellar"}},
		text:     []textFile{{path: "pkg/doc.go", lines: []string{"//\tpkg/", "//\t  attic/"}}},
	}
	want := []string{"pkg/cellar: not in the drawing of pkg/doc.go", "pkg/attic: in the drawing of pkg/doc.go but not in the tree"}
	if got := drawnIsBuilt(project); !slices.Equal(got, want) {
		t.Errorf("breaches %q, want %q", got, want)
	}
}
