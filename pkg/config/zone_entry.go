package config

import (
	"bytes"
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ProviderKey is a key that the entry of a zone may have.
type ProviderKey struct {
	Name   string // a nested one with a dot: tsig.name
	Secret bool
	Doc    string
}

// ProviderKeys lists the keys that only a provider's zones have, or those of it
// among others, as they stand in CONFIG.md.
func ProviderKeys(provider string) []ProviderKey {
	var keys []ProviderKey
	for _, f := range zoneKeys {
		if slices.Contains(strings.Fields(f.of), provider) {
			keys = append(keys, f.keys("")...)
		}
	}
	return keys
}

func (f *field) keys(prefix string) []ProviderKey {
	if len(f.kind.fields) == 0 {
		return []ProviderKey{{Name: prefix + f.name, Secret: f.kind.secret, Doc: f.doc}}
	}
	var keys []ProviderKey
	for i := range f.kind.fields {
		keys = append(keys, f.kind.fields[i].keys(prefix+f.name+".")...)
	}
	return keys
}

// SecretReference reports whether a text says where a secret is, and is none
// itself.
func SecretReference(text string) bool {
	source, name, found := strings.Cut(text, ":")
	return found && name != "" && slices.Contains([]string{"env", "file", "credential"}, source)
}

// zoneEntry writes a zone's entry as it stands in the file, for a file in another
// folder: paths are absolute. A secret that stands there itself is replaced by
// the name of an environment variable, which a comment says.
func (b *builder) zoneEntry(it *item) []byte {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	provider := get[string](it.at("provider"))
	if err := encoder.Encode([]*yaml.Node{b.entryNode(it, provider)}); err != nil {
		return []byte("# cannot write the entry: " + err.Error() + "\n")
	}
	return out.Bytes()
}

func (b *builder) entryNode(it *item, path string) *yaml.Node {
	switch it.shape {
	case mapping:
		node := &yaml.Node{Kind: yaml.MappingNode}
		for _, child := range it.items {
			node.Content = append(node.Content, textNode(child.name), b.entryNode(child, path+"_"+child.name))
		}
		return node
	case list:
		node := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, child := range it.items {
			node.Content = append(node.Content, b.entryNode(child, path))
		}
		return node
	}
	return b.entryText(it, path)
}

func (b *builder) entryText(it *item, path string) *yaml.Node {
	text := it.text
	file, isFile := strings.CutPrefix(text, "file:")
	kind := cmp.Or(it.kind, &kind{})
	switch {
	case kind.secret && isFile:
		return textNode("file:" + b.absolute(file))
	case kind.secret && !SecretReference(text):
		name := strings.ToUpper("SIDESTEP_" + path)
		node := textNode("env:" + name)
		node.LineComment = "the secret itself stood here: put it into this variable"
		return node
	case kind.path && filepath.Clean(text) != ".":
		return textNode(b.absolute(text))
	case text == "true" || text == "false":
		return &yaml.Node{Kind: yaml.ScalarNode, Value: text} // without quotes
	}
	return textNode(text)
}
