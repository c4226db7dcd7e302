package control

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite API.md")

const preamble = `# The control API

<!-- Made from routes.go and the shapes by go test ./pkg/control -update. Edit those. -->

The daemon serves one protocol, JSON over HTTP, at two places. On the control socket the file system says
who may use it, and the kernel who did:

    curl --unix-socket /run/sidestep/control.sock http://localhost/api/v1/status

Over TCP at ` + "`control.listen`" + ` each request carries a token of ` + "`control.tokens`" + `, whose name stands in the journal
and beside what it said. The role ` + "`read`" + ` may look, ` + "`operate`" + ` may look and change:

    curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:9953/api/v1/status

A drain, and its end. The answer 200 says that the word is kept, and ` + "`exit`" + ` in it what comes of that, as the
command's exit code does (3: the last answer stays, 6: frozen). ` + "`dry_run`" + ` keeps nothing and only says it:

    curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:9953/api/v1/override \
      -d '{"kind": "drain", "target": "203.0.113.10", "for": "2h", "reason": "new kernel", "dry_run": true}'
    curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:9953/api/v1/override/clear \
      -d '{"kind": "drain", "target": "203.0.113.10"}'

Host and Origin are checked, for reads too; ten wrong tokens in a minute lock their address out for that
minute. Off loopback it is HTTPS only. Beside the protocol there are ` + "`/`" + ` (the dashboard), ` + "`/healthz`" + `, which
needs no token and answers 200 once the loop that decides has turned, and ` + "`/metrics`" + `.

A body is one JSON value whose fields are all known. Names and zones are absolute, lower case, with the final
dot; times are RFC 3339. Fields may be added to answers; those that are here keep their names. What could not
be done is answered with 422 and ` + "`{\"error\": {\"message\", \"hint\", \"exit\"}}`" + `, where exit is the exit code of the
command; 400 and 413 are of the body, 401, 403 and 429 of the token, 403 of the Origin and 421 of the Host, 404 of
the path.

## Requests
`

// TestReferenceRequests reads the bodies of the preamble as the daemon does.
func TestReferenceRequests(t *testing.T) {
	bodies := regexp.MustCompile(`-d '(.*)'`).FindAllStringSubmatch(preamble, -1)
	if len(bodies) != 2 {
		t.Fatalf("the preamble has %d bodies, want 2", len(bodies))
	}
	for i, request := range []any{&OverrideRequest{}, &ClearRequest{}} {
		decoder := json.NewDecoder(strings.NewReader(bodies[i][1]))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(request); err != nil {
			t.Errorf("%s: %v", bodies[i][1], err)
		}
	}
}

// comments are the texts beside the types of this package and their fields, by
// "Type" and "Type.Field".
func comments(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range group.Specs {
				if named, ok := spec.(*ast.TypeSpec); ok {
					texts[named.Name.Name] = oneLine(group.Doc)
					fieldComments(texts, named)
				}
			}
		}
	}
	return texts
}

func fieldComments(texts map[string]string, named *ast.TypeSpec) {
	shape, ok := named.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range shape.Fields.List {
		for _, name := range field.Names {
			texts[named.Name.Name+"."+name.Name] = strings.TrimSpace(oneLine(field.Doc) + " " + oneLine(field.Comment))
		}
	}
}

func oneLine(group *ast.CommentGroup) string {
	if group == nil {
		return ""
	}
	return strings.Join(strings.Fields(group.Text()), " ")
}

// book writes API.md.
type book struct {
	strings.Builder

	texts  map[string]string
	shapes []reflect.Type // to be told, in the order in which they come up
	told   map[reflect.Type]bool
}

func reference(t *testing.T) string {
	t.Helper()
	b := &book{texts: comments(t), told: map[reflect.Type]bool{}}
	b.WriteString(preamble)
	for _, r := range protocol() {
		b.request(r)
	}
	b.WriteString("\n## Shapes\n")
	for i := 0; i < len(b.shapes); i++ { // which grows meanwhile
		b.shape(b.shapes[i])
	}
	return b.String()
}

func (b *book) request(r route) {
	fmt.Fprintf(b, "\n### %s %s\n\n%s Role: %s.\n", r.method, r.path, r.does, r.role)
	for _, q := range r.query {
		fmt.Fprintf(b, "\n- Query %s", q)
	}
	if len(r.query) > 0 {
		b.WriteString("\n")
	}
	if r.asks != nil {
		fmt.Fprintf(b, "\nBody: %s.\n", b.kind(reflect.TypeOf(r.asks)))
	}
	if r.answers != nil {
		fmt.Fprintf(b, "\nAnswer: %s.\n", b.kind(reflect.TypeOf(r.answers)))
	}
}

func (b *book) shape(of reflect.Type) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n| field | type | what it is |\n|---|---|---|\n", of.Name(), b.texts[of.Name()])
	for field := range of.Fields() {
		if field.Anonymous {
			fmt.Fprintf(b, "| | | the fields of %s |\n", b.kind(field.Type))
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || !field.IsExported() {
			continue
		}
		text := strings.ReplaceAll(b.texts[of.Name()+"."+field.Name], "|", `\|`)
		if strings.Contains(options, "omitempty") {
			text = strings.TrimPrefix(text+"; left out when empty", "; ")
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, b.kind(field.Type), text)
	}
}

// kind is a type in words; one of this package is told further down.
func (b *book) kind(of reflect.Type) string {
	switch {
	case of == reflect.TypeFor[time.Time]():
		return "time"
	case of == reflect.TypeFor[json.RawMessage]():
		return "object"
	}
	switch of.Kind() {
	case reflect.Pointer:
		return b.kind(of.Elem()) + " or null"
	case reflect.Slice:
		return "list of " + b.kind(of.Elem())
	case reflect.Map:
		return "object of " + b.kind(of.Elem()) + " by name"
	case reflect.Struct:
		if !b.told[of] {
			b.told[of] = true
			b.shapes = append(b.shapes, of)
		}
		return fmt.Sprintf("[%s](#%s)", of.Name(), strings.ToLower(of.Name()))
	case reflect.Bool, reflect.String:
		return of.Kind().String()
	default:
		return "number"
	}
}

func TestReferenceIsUpToDate(t *testing.T) {
	want := reference(t)
	if *update {
		if err := os.WriteFile("API.md", []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("API.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("API.md is not what routes.go and the shapes say: go test ./pkg/control -update")
	}
}
