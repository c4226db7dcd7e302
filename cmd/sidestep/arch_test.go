package main_test

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestArchitecture holds the project to the rules of the house.
func TestArchitecture(t *testing.T) {
	project, err := readTree(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	complain := func(rule string, check func(*tree) []string) {
		t.Run(rule, func(t *testing.T) {
			for _, breach := range check(project) {
				t.Error(breach)
			}
		})
	}
	for rule, check := range rules {
		complain(rule, check)
	}
	complain("the table names what is there", roomsAreBuilt)
	complain("the drawing shows what is there", drawnIsBuilt)
}

// TestArchitectureRulesBite breaks the rules in small trees, one idea each. The
// head of such a file says which breaches have to be found in it, and that
// there are no others.
func TestArchitectureRulesBite(t *testing.T) {
	files, err := filepath.Glob("testdata/arch/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("look for broken trees: found %d, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			root := fstest.MapFS{}
			for _, f := range archive.Files {
				root[f.Name] = &fstest.MapFile{Data: f.Data}
			}
			project, err := readTree(root)
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, check := range rules {
				found = append(found, check(project)...)
			}
			slices.Sort(found)
			if diff := cmp.Diff(lines(archive.Comment), found); diff != "" {
				t.Errorf("breaches (-expected +found):\n%s", diff)
			}
		})
	}
}

// lines are the lines of a text that say something, sorted; '#' begins a remark.
func lines(text []byte) (said []string) {
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			said = append(said, line)
		}
	}
	slices.Sort(said)
	return said
}

// TestTableIsSane finds lines in the table that no package could need.
func TestTableIsSane(t *testing.T) {
	for dir, list := range rooms {
		for own := range strings.FieldsSeq(list.own) {
			target := own
			if !within(own, "providers") {
				target = path.Join("pkg", own)
			}
			if _, known := rooms[target]; !known {
				t.Errorf("%s: may import %s, which has no line", dir, target)
			}
		}
	}
}
