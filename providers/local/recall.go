package local

import (
	"sync"
	"weak"
)

// recall remembers what a file was read as while somebody still works with it,
// so that writes one after the other, each with a list before it, read the file
// once and not three times. It keeps no document alive but the newest that was
// written, and that one until it is asked for: a large zone costs nothing while
// nothing is written.
type recall struct {
	mu    sync.Mutex
	doc   weak.Pointer[document]
	wrote *document
}

// find gives the document of a text; nil when it is not remembered.
func (r *recall) find(text string) *document {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrote = nil
	if doc := r.doc.Value(); doc != nil && doc.text == text {
		return doc
	}
	return nil
}

// read remembers what a file was read as.
func (r *recall) read(doc *document) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doc = weak.Make(doc)
}

// written remembers what was written, for the list that follows.
func (r *recall) written(doc *document) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doc, r.wrote = weak.Make(doc), doc
}
