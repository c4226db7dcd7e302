package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"sidestep/pkg/provider"
)

// maxSecret is the size of the largest secret.
const maxSecret = 64 << 10

// literalHint is the next step after a secret that others can read.
const literalHint = "use env:NAME, file:PATH or credential:NAME, or chmod o-r the file"

// secret reads what an item of kind secret points to. What cannot be read is an
// error that names the source and never the content; an absent item is empty.
func (b *builder) secret(it *item) provider.Secret {
	ref := get[string](it)
	if ref == "" || b.opts.SkipSecrets {
		return provider.Secret{}
	}
	source, name, found := strings.Cut(ref, ":")
	read, known := map[string]func(*item, string) (string, *fault){
		"env":        b.secretFromEnv,
		"file":       b.secretFromFile,
		"credential": b.secretFromCredential,
	}[source]
	if !found || !known {
		if b.open {
			b.warn(it.pos, it.path(), "a secret stands in a file that others can read", literalHint)
		}
		return provider.NewSecret(ref)
	}
	content, f := read(it, name)
	if f == nil && content == "" {
		f = faultf("the secret from %s:%s is empty", source, name)
	}
	if f != nil {
		b.fail(it.pos, it.path(), f.problem, f.hint)
		return provider.Secret{}
	}
	return provider.NewSecret(content)
}

func (b *builder) secretFromEnv(_ *item, name string) (string, *fault) {
	value := b.opts.Getenv(name)
	if value == "" {
		return "", faultf("the environment variable %s is not set", quote(name)).advise("set it, or write file:PATH or credential:NAME")
	}
	return value, nil
}

func (b *builder) secretFromFile(it *item, path string) (string, *fault) {
	if path == "" {
		return "", faultf("expected a path after file:")
	}
	return b.secretFromPath(it, b.absolute(path), true)
}

func (b *builder) secretFromCredential(it *item, name string) (string, *fault) {
	dir := b.opts.Getenv("CREDENTIALS_DIRECTORY")
	switch {
	case name == "" || name != filepath.Base(name) || name == "..":
		return "", faultf("expected a name after credential:, got %s", quote(name))
	case dir == "":
		return "", faultf("credential:%s needs systemd: $CREDENTIALS_DIRECTORY is not set", name).advise("add LoadCredential= to the unit; in a shell: CREDENTIALS_DIRECTORY=/etc/sidestep sidestep ...; or write file:PATH")
	}
	return b.secretFromPath(it, filepath.Join(dir, name), false)
}

func (b *builder) secretFromPath(it *item, path string, watch bool) (string, *fault) {
	f, err := readFile(b.opts, path, maxSecret)
	if err != nil {
		if inner, ok := errors.AsType[*fs.PathError](err); ok {
			err = inner.Err
		}
		return "", faultf("cannot read the secret file %s: %v", quote(path), err)
	}
	if watch && f.open() {
		b.warn(it.pos, it.path(), fmt.Sprintf("others can read the secret file %s", quote(path)), "chmod o-r it")
	}
	return strings.TrimRight(string(f.data), "\r\n"), nil
}
