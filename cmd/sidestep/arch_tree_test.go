package main_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// tree is the source of the project as the architecture tests see it: parsed,
// not built, so that they also work on the small broken trees in testdata.
type tree struct {
	packages []*room    // sorted by dir
	text     []textFile // every file that people read, Go files included
}

// room is one directory of Go files.
type room struct {
	dir   string // slash-separated, from the root of the project
	name  string // of the package, without a _test suffix
	files []goFile
}

type goFile struct {
	path      string
	lines     int
	test      bool
	generated bool
	syntax    *ast.File
	set       *token.FileSet
}

type textFile struct {
	path  string
	lines []string
}

// unread are directories that hold nothing of ours: what git keeps and what
// builds leave behind.
var unread = []string{".git", "bin", "dist", ".ci/bin", ".ci/home"}

// readTree parses a project.
func readTree(root fs.FS) (*tree, error) {
	rooms := map[string]*room{}
	t := &tree{}
	err := fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(unread, file):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		return t.readFile(root, file, rooms)
	})
	t.packages = slices.SortedFunc(maps.Values(rooms), func(a, b *room) int { return strings.Compare(a.dir, b.dir) })
	return t, err
}

func (t *tree) readFile(root fs.FS, file string, rooms map[string]*room) error {
	data, err := fs.ReadFile(root, file)
	if err != nil {
		return err
	}
	if bytes.IndexByte(data, 0) < 0 {
		t.text = append(t.text, textFile{path: file, lines: strings.Split(string(data), "\n")})
	}
	if path.Ext(file) != ".go" || strings.Contains(file, "testdata/") {
		return nil
	}
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, file, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(file)
	if rooms[dir] == nil {
		rooms[dir] = &room{dir: dir}
	}
	r := rooms[dir]
	r.name = strings.TrimSuffix(syntax.Name.Name, "_test")
	r.files = append(r.files, goFile{
		path:      file,
		lines:     bytes.Count(data, []byte("\n")),
		test:      strings.HasSuffix(file, "_test.go"),
		generated: ast.IsGenerated(syntax),
		syntax:    syntax,
		set:       set,
	})
	return nil
}

// find returns the package in a directory, nil when there is none.
func (t *tree) find(dir string) *room {
	for _, r := range t.packages {
		if r.dir == dir {
			return r
		}
	}
	return nil
}

// code lists the files that are built into the binary.
func (r *room) code() []goFile {
	return slices.DeleteFunc(slices.Clone(r.files), func(f goFile) bool { return f.test })
}

// imports lists what the package's code imports directly, sorted.
func (r *room) imports() []string {
	var paths []string
	for _, f := range r.code() {
		for _, spec := range f.syntax.Imports {
			paths = append(paths, importPath(spec))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func importPath(spec *ast.ImportSpec) string {
	text, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value // the parser has seen to it that this is a string
	}
	return text
}

// localName is the name under which a file uses an import, empty when it does
// not import it.
func (f goFile) localName(pkg string) string {
	for _, spec := range f.syntax.Imports {
		if importPath(spec) != pkg {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(pkg)
	}
	return ""
}

// at is the place of a node, "path:line".
func (f goFile) at(node ast.Node) string {
	return f.path + ":" + strconv.Itoa(f.set.Position(node.Pos()).Line)
}

// within reports whether a directory or import path is one of the given ones
// or below one of them.
func within(name string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return name == dir || strings.HasPrefix(name, dir+"/")
	})
}
