package config

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// walk visits every key of the schema with its path.
func walk(k *kind, path string, visit func(path string, f *field)) {
	for i := range k.fields {
		f := &k.fields[i]
		visit(join(path, f.name), f)
		walk(f.kind, join(path, f.name), visit)
	}
	if k.each != nil {
		walk(k.each, join(path, "NAME"), visit)
	}
	if k.elem != nil {
		walk(k.elem, path+"[]", visit)
	}
}

func TestEveryKeySaysWhatItMeans(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)
	seen := map[string]bool{}
	walk(schema, "", func(path string, f *field) {
		switch {
		case !name.MatchString(f.name):
			t.Errorf("%s: not the form of a key", path)
		case seen[path]:
			t.Errorf("%s: twice in the schema", path)
		case f.doc == "" || strings.HasSuffix(f.doc, ".") || f.kind.word == "":
			t.Errorf("%s: no meaning, or one that ends in a full stop", path)
		case f.need && (f.def != "" || f.word != ""):
			t.Errorf("%s: needed, and with a default", path)
		case f.kind.parse == nil && f.kind.fields == nil && f.kind.each == nil && f.kind.elem == nil:
			t.Errorf("%s: takes nothing", path)
		}
		seen[path] = true
		if f.def == "" {
			return
		}
		if f.kind.parse == nil {
			t.Errorf("%s: a default without a plain value", path)
		} else if _, fault := f.kind.parse(f.def); fault != nil {
			t.Errorf("%s: the default %s does not fit: %s", path, f.def, fault.problem)
		}
	})
	if len(seen) < 150 {
		t.Errorf("the schema has %d keys, fewer than it once had", len(seen))
	}
}

func TestWhatIsOffIsAccepted(t *testing.T) {
	mustParse(t, "t.yaml", small+"control: {listen: \"\"}\nguard: {mass: 0, max_writes: 0}\n", world())
	if cfg := mustParse(t, "t.yaml", small+"guard: {max_writes: {count: 0, window: 10m}}\n", world()); cfg.Guard.MaxWrites.Count != 0 {
		t.Errorf("of a count of 0 it makes %+v", cfg.Guard.MaxWrites)
	}
}

//go:generate go test -run TestReferenceIsCurrent -update .

func TestReferenceIsCurrent(t *testing.T) {
	golden(t, "CONFIG.md", reference())
}

const referenceHead = `# The config file

This page is made from the schema in pkg/config (` + "`go generate ./pkg/config`" + `) and says what each key takes, its default and its meaning.

The file is YAML: one document, no tags, no anchors, no merge keys, no key twice, no numbers with leading zeros. A key that is not
here is an error.

- **Durations** are written ` + "`10s`, `1m30s`, `0.5s`" + ` or as a number of seconds.
- **Sizes** are written ` + "`64KiB`, `1MiB`" + ` or as a number of bytes.
- **Names** of zones and record sets may be Unicode, in any letter case, with or without the final dot.
- **Names as answers** of a CNAME are resolved at every probe, at the name servers of /etc/resolv.conf and never by /etc/hosts, and probed at
  each address, up to 16. One that passes is enough, all must fail to bring it down, and what a resolver cannot tell counts for nothing.
- **Secrets** are ` + "`env:NAME`" + ` (an environment variable), ` + "`file:PATH`" + ` (relative to the config's folder; line breaks at the end are cut off),
  ` + "`credential:NAME`" + ` (a file in systemd's $CREDENTIALS_DIRECTORY), or the text itself. No output shows them.
- **Nodes that share an etcd** compare their configs by a digest, and status names those whose config is another. What may differ from node
  to node is not in it: node, state, control, canary, notify, ping, the source and the certificate files of checks, verify.servers, every secret, and how the node
  reaches etcd (all but its prefix) and the providers (endpoint, server, transfer_from, file, listen, profile, region, role_arn, tsig, insecure).
- ` + "`NAME`" + ` in a path stands for a name of your own, ` + "`[]`" + ` for an element of a list.
- The file must belong to root or to the user, and nobody else may be able to write it.
- Environment variables ` + "`SIDESTEP_…`" + ` stand for flags of the command line (` + "`SIDESTEP_CONFIG` for `--config`" + `), never for keys of this file.
`

func reference() string {
	var out strings.Builder
	out.WriteString(referenceHead)
	for _, f := range schema.fields {
		fmt.Fprintf(&out, "\n## %s\n\n%s.\n%s\n| key | takes | default | meaning |\n|---|---|---|---|\n", f.name, sentence(f.doc), f.text)
		row(&out, f.name, &f)
		walk(f.kind, f.name, func(path string, f *field) { row(&out, path, f) })
	}
	return out.String()
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func row(out *strings.Builder, path string, f *field) {
	fallback := "—"
	switch {
	case f.need:
		fallback = "needed"
	case f.def != "":
		fallback = "`" + f.def + "`"
	case f.word != "":
		fallback = f.word
	}
	meaning := f.doc
	if f.of != "" {
		meaning = "(" + strings.ReplaceAll(f.of, " ", ", ") + ") " + meaning
	}
	cells := []string{"`" + path + "`", f.kind.word, fallback, meaning}
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(c, "|", `\|`)
	}
	fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
}
