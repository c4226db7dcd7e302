package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed page
var page embed.FS

// policy lets the page load what is its own and nothing else (Content Security
// Policy Level 3). Trusted types forbid turning a string into HTML or script,
// wherever the browser knows of them.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// file is one file of the page, ready to be sent.
type file struct {
	kind   string // Content-Type
	tag    string // ETag, of the plain form
	plain  []byte
	packed []byte // by gzip
}

// Handler serves the page at / and its parts beside it, to GET and HEAD. It is safe
// for concurrent use, keeps nothing, and knows no API: that has to be mounted at
// /api/v1/ of the same host.
func Handler() (http.Handler, error) {
	files, err := load(page)
	if err != nil {
		return nil, fmt.Errorf("load the dashboard: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		guard(w.Header())
		name := strings.TrimPrefix(r.URL.Path, "/")
		if name == "" {
			name = "index.html"
		}
		f, there := files[name]
		switch {
		case !there:
			http.Error(w, "the dashboard has no such page; it is at /", http.StatusNotFound)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the dashboard is only read; changes go to /api/v1/", http.StatusMethodNotAllowed)
		default:
			f.send(w, r)
		}
	}), nil
}

// guard says what a browser may do with an answer.
func guard(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY") // for browsers that do not know frame-ancestors
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

func load(root fs.FS) (map[string]file, error) {
	files := map[string]file{}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		packed, err := pack(data)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		files[strings.TrimPrefix(name, "page/")] = file{
			kind: kindOf(name), tag: hex.EncodeToString(sum[:12]), plain: data, packed: packed,
		}
		return nil
	})
	return files, err
}

// kindOf does not ask the machine's own tables, which may say something else of
// scripts; a browser would not run them then.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".html":
		return "text/html; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}

func pack(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// send answers with the file, or with 304 where the browser has it. It is asked for
// again each time, so that a page and its scripts are of one version after an
// upgrade.
func (f file) send(w http.ResponseWriter, r *http.Request) {
	data, tag := f.plain, `"`+f.tag+`"`
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	if takesGzip(r.Header.Get("Accept-Encoding")) {
		data, tag = f.packed, `"`+f.tag+`-gzip"`
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// takesGzip reads Accept-Encoding (RFC 9110 section 12.5.3) as far as the page needs
// it: gzip is named, and not with a weight of 0.
func takesGzip(accepted string) bool {
	for part := range strings.SplitSeq(accepted, ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			weight = strings.ReplaceAll(weight, " ", "")
			return strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || weight == ""
		}
	}
	return false
}
