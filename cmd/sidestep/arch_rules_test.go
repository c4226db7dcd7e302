package main_test

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

// The limits of what a reader has to hold in mind at once, in lines.
const (
	maxFile = 500
	maxFunc = 80
	maxMain = 40 // of cmd/sidestep/main.go, which only hands over
)

// rules are the rules of the house. Each returns a line per breach.
var rules = map[string]func(*tree) []string{
	"imports are in the table":            importsInTable,
	"imports stay inside their walls":     importsInsideWalls,
	"the core has no clock and no thread": coreIsPure,
	"packages have one doc":               packageDocs,
	"files and functions are short":       shortEnough,
	"nothing runs before main or ends it": noHiddenFlow,
	"texts stand on their own":            textsStandAlone,
}

// importsInTable holds every package to its line in the table.
func importsInTable(t *tree) (breaches []string) {
	for _, r := range t.packages {
		if !within(r.dir, "pkg", "providers", "cmd") {
			continue
		}
		list, listed := rooms[r.dir]
		if !listed {
			breaches = append(breaches, fmt.Sprintf("%s: no line in the table: add it, with what it may import, to rooms in cmd/sidestep/arch_table_test.go, and to the drawing in pkg/doc.go", r.dir))
			continue
		}
		for _, imp := range r.imports() {
			if !list.permits(imp) {
				breaches = append(breaches, fmt.Sprintf("%s: imports %s, which its line in cmd/sidestep/arch_table_test.go does not allow", r.dir, imp))
			}
		}
	}
	return breaches
}

func (a allowed) permits(imp string) bool {
	if own, isOwn := strings.CutPrefix(imp, "sidestep/"); isOwn {
		return slices.Contains(strings.Fields(a.own), strings.TrimPrefix(own, "pkg/"))
	}
	if first, _, _ := strings.Cut(imp, "/"); strings.Contains(first, ".") {
		return within(imp, strings.Fields(a.mods)...)
	}
	return a.std == "" || slices.Contains(strings.Fields(a.std), imp)
}

// roomsAreBuilt compares the table with what is there: a line for a package that
// is gone has to go, and so has a permission that nobody uses.
func roomsAreBuilt(t *tree) (breaches []string) {
	for dir, list := range rooms {
		r := t.find(dir)
		if r == nil {
			breaches = append(breaches, dir+": in the table rooms of cmd/sidestep/arch_table_test.go but not in the tree")
			continue
		}
		for _, unused := range list.unused(r.imports()) {
			breaches = append(breaches, fmt.Sprintf("%s: its line in cmd/sidestep/arch_table_test.go allows %s, which it does not import", dir, unused))
		}
	}
	return breaches
}

// unused lists the packages of this project and of other modules that a line
// allows and that are not among the imports.
func (a allowed) unused(imports []string) (list []string) {
	for own := range strings.FieldsSeq(a.own) {
		if !slices.Contains(imports, "sidestep/pkg/"+own) && !slices.Contains(imports, "sidestep/"+own) {
			list = append(list, own)
		}
	}
	for mod := range strings.FieldsSeq(a.mods) {
		if !slices.ContainsFunc(imports, func(imp string) bool { return within(imp, mod) }) {
			list = append(list, mod)
		}
	}
	return list
}

// walls hold whatever the table says: only the packages in and below the
// directories of who may import what.
var walls = []struct{ what, who string }{
	{"sidestep/cmd", ""},
	{"sidestep/providers", "cmd providers"},
	{"sidestep/pkg/daemon", "pkg/cli pkg/lab pkg/simulate"},
	{"github.com/coreos/go-systemd", "pkg/daemon"},
	{"sidestep/pkg/reconcile", "pkg/daemon pkg/simulate"},
	{"sidestep/pkg/provider", "pkg/provider pkg/reconcile pkg/config pkg/daemon pkg/simulate pkg/cli pkg/lease/etcd/etcdtest providers"},
	{"go.etcd.io", "pkg/lease/etcd pkg/cluster providers/conformance"},
	{"google.golang.org/grpc", "pkg/lease/etcd pkg/cluster"},
	{"github.com/libdns", "pkg/provider providers"},
	{"github.com/prometheus", "pkg/metrics"},
	{"github.com/rs/zerolog", "pkg/daemon pkg/cli"},
	{"github.com/spf13/cobra", "pkg/cli"},
	{"github.com/spf13/viper", "pkg/config"},
}

// strangers never import each other in this direction.
var strangers = []struct{ who, what string }{
	{"pkg/probe", "health"},
	{"pkg/schedule", "health"},
	{"pkg/scenario", "check"},
	{"pkg/plan", "health"},
	{"pkg/control", "reconcile provider lease"},
	{"pkg/web", "reconcile provider lease"},
	{"providers", "config plan daemon"},
}

func importsInsideWalls(t *tree) (breaches []string) {
	for _, r := range t.packages {
		for _, imp := range r.imports() {
			if why := wallBetween(r.dir, imp); why != "" {
				breaches = append(breaches, fmt.Sprintf("%s: imports %s: %s", r.dir, imp, why))
			}
		}
	}
	return breaches
}

// wallBetween says why a package may not import another, empty when it may.
func wallBetween(dir, imp string) string {
	for _, w := range walls {
		if within(imp, w.what) && !within(dir, strings.Fields(w.who)...) {
			return strings.TrimSpace("that is for " + w.who)
		}
	}
	for _, s := range strangers {
		for other := range strings.FieldsSeq(s.what) {
			if within(dir, s.who) && within(imp, "sidestep/pkg/"+other) {
				return s.who + " never knows " + other
			}
		}
	}
	if other, isProvider := strings.CutPrefix(imp, "sidestep/providers/"); isProvider && within(dir, "providers") && dir != "providers" {
		mine, _, _ := strings.Cut(strings.TrimPrefix(dir, "providers/"), "/")
		if !within(other, mine) {
			return "a provider never knows another provider"
		}
	}
	return ""
}

// impure are the names, by package, that read a clock, wait, or print.
var impure = map[string][]string{
	"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Timer", "Ticker", "Local", "LoadLocation"},
	"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
}

// coreIsPure looks into the packages whose standard library is restricted for
// what imports do not show.
func coreIsPure(t *tree) (breaches []string) {
	for _, r := range t.packages {
		if rooms[r.dir].std == "" {
			continue
		}
		for _, f := range r.code() {
			ast.Inspect(f.syntax, func(n ast.Node) bool {
				if what := impurity(f, n); what != "" {
					breaches = append(breaches, fmt.Sprintf("%s: %s in a package that turns values into values: take it from the event", f.at(n), what))
				}
				return true
			})
		}
	}
	return breaches
}

// impurity names what is impure about a node, empty for most.
func impurity(f goFile, n ast.Node) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a goroutine"
	case *ast.ChanType, *ast.SelectStmt:
		return "a channel"
	case *ast.SelectorExpr:
		pkg, isName := n.X.(*ast.Ident)
		if !isName {
			return ""
		}
		for std, names := range impure {
			if pkg.Name == f.localName(std) && slices.Contains(names, n.Sel.Name) {
				return std + "." + n.Sel.Name
			}
		}
	}
	return ""
}

// packageDocs wants one comment per package, where a reader looks first: in
// doc.go, in the only file, or beside main for a command. (That exported names
// are documented is revive's business.)
func packageDocs(t *tree) (breaches []string) {
	for _, r := range t.packages {
		var docs []string
		for _, f := range r.code() {
			if f.syntax.Doc == nil {
				continue
			}
			docs = append(docs, f.path)
			want, in := "Package "+r.name+" ", "doc.go"
			if r.name == "main" {
				want = "Command " + path.Base(r.dir) + " "
			}
			if r.name == "main" || len(r.code()) == 1 {
				in = path.Base(f.path)
			}
			if !strings.HasPrefix(f.syntax.Doc.Text(), want) {
				breaches = append(breaches, fmt.Sprintf("%s: the package comment has to begin with %q", f.path, want))
			}
			if path.Base(f.path) != in {
				breaches = append(breaches, fmt.Sprintf("%s: the package comment belongs into %s", f.path, in))
			}
		}
		if len(r.code()) > 0 && len(docs) != 1 {
			breaches = append(breaches, fmt.Sprintf("%s: expected one package comment, found %d %v", r.dir, len(docs), docs))
		}
	}
	return breaches
}

func shortEnough(t *tree) (breaches []string) {
	for _, r := range t.packages {
		for _, f := range r.files {
			limit := maxFile
			if f.path == "cmd/sidestep/main.go" {
				limit = maxMain
			}
			if f.lines > limit && !f.generated {
				breaches = append(breaches, fmt.Sprintf("%s: %d lines, more than %d: split it by idea", f.path, f.lines, limit))
			}
		}
		for _, f := range r.code() {
			for _, fn := range functions(f) {
				if n := f.set.Position(fn.End()).Line - f.set.Position(fn.Pos()).Line + 1; n > maxFunc && !f.generated {
					breaches = append(breaches, fmt.Sprintf("%s: %s has %d lines, more than %d", f.at(fn), fn.Name.Name, n, maxFunc))
				}
			}
		}
	}
	return breaches
}

func functions(f goFile) (found []*ast.FuncDecl) {
	for _, decl := range f.syntax.Decls {
		if fn, isFunc := decl.(*ast.FuncDecl); isFunc {
			found = append(found, fn)
		}
	}
	return found
}

// noHiddenFlow forbids what makes the order of things hard to follow: init
// functions, panics, and an end of the process anywhere but in main.
func noHiddenFlow(t *tree) (breaches []string) {
	for _, r := range t.packages {
		for _, f := range r.files {
			for _, fn := range functions(f) {
				if fn.Name.Name == "init" && fn.Recv == nil {
					breaches = append(breaches, f.at(fn)+": an init function: let the caller build what it needs")
				}
				if f.test {
					continue
				}
				ast.Inspect(fn, func(n ast.Node) bool {
					if what := sudden(f, r, fn, n); what != "" {
						breaches = append(breaches, f.at(n)+": "+what)
					}
					return true
				})
			}
		}
	}
	return breaches
}

// sudden says what is wrong with a node that ends a function or the process
// past its caller, empty for most.
func sudden(f goFile, r *room, fn *ast.FuncDecl, n ast.Node) string {
	call, isCall := n.(*ast.CallExpr)
	if !isCall {
		return ""
	}
	switch callee := call.Fun.(type) {
	case *ast.Ident:
		if _, excused := panics[r.dir+"."+fn.Name.Name]; callee.Name == "panic" && !excused {
			return "a panic: return an error, or give the reason in panics of cmd/sidestep/arch_table_test.go"
		}
	case *ast.SelectorExpr:
		pkg, isName := callee.X.(*ast.Ident)
		if isName && pkg.Name == f.localName("os") && callee.Sel.Name == "Exit" && r.name != "main" {
			return "os.Exit outside of main: return an exit code"
		}
		if isName && pkg.Name == f.localName("log") && strings.HasPrefix(callee.Sel.Name, "Fatal") {
			return "log.Fatal: return an error"
		}
	}
	return ""
}

// outside matches what a reader of this repository alone cannot follow: paths of
// somebody's own machine, and numbers of a tracker that is not his.
var outside = regexp.MustCompile(`(^|[^\w.])/(home|root)/` +
	`|\b[Ii]ssue #?\d`)

// clues are in every line that outside could match; looking for them is cheap.
var clues = []string{"/home/", "/root/", "ssue"}

func textsStandAlone(t *tree) (breaches []string) {
	for _, f := range t.text {
		if within(f.path, "cmd/sidestep/testdata/arch", "cmd/sidestep/arch_rules_test.go") {
			continue // they say what is forbidden
		}
		for i, line := range f.lines {
			if !slices.ContainsFunc(clues, func(clue string) bool { return strings.Contains(line, clue) }) {
				continue
			}
			if found := outside.FindString(line); found != "" {
				breaches = append(breaches, fmt.Sprintf("%s:%d: mentions %q, which is not in this repository: say it here", f.path, i+1, strings.TrimSpace(found)))
			}
		}
	}
	return breaches
}
