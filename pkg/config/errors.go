package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a config file. Line and Column count from 1; a Line of
// 0 means the file as a whole.
type Position struct {
	File         string
	Line, Column int
}

// String is FILE:LINE:COLUMN, or FILE alone for the file as a whole.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

func (p Position) compare(o Position) int {
	return cmp.Or(cmp.Compare(p.File, o.File), cmp.Compare(p.Line, o.Line), cmp.Compare(p.Column, o.Column))
}

// Error is one thing that is wrong with a config. No part of it ever holds a
// secret.
type Error struct {
	Position
	Key     string // path of the key: zones[0].tsig.secret; empty for the file as a whole
	Problem string // what was expected and what came
	Hint    string // the next step; may be empty
}

// Error is one line: FILE:LINE:COLUMN: KEY: PROBLEM; HINT.
func (e *Error) Error() string { return line(e.Position, e.Key, e.Problem, e.Hint) }

// Warning is one thing that works but is probably not meant.
type Warning Error

// String is one line, as that of an Error.
func (w Warning) String() string { return line(w.Position, w.Key, w.Problem, w.Hint) }

func line(p Position, key, problem, hint string) string {
	text := p.String() + ": "
	if key != "" {
		text += key + ": "
	}
	text += problem
	if hint != "" {
		text += "; " + hint
	}
	return text
}

// Errors is everything that is wrong with a config, sorted by position. It is
// the error that Load and Parse return for a file that they could read.
type Errors []*Error

// Error is one line for each error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the single errors to errors.As.
func (e Errors) Unwrap() []error {
	list := make([]error, len(e))
	for i, one := range e {
		list[i] = one
	}
	return list
}

// log collects errors and warnings while a file is read.
type log struct {
	file     string
	errors   Errors
	warnings []Warning
}

func (l *log) fail(p Position, key, problem, hint string) {
	l.errors = append(l.errors, &Error{p, key, problem, hint})
}

func (l *log) warn(p Position, key, problem, hint string) {
	l.warnings = append(l.warnings, Warning{p, key, problem, hint})
}

// sort puts everything in the order of the file; what stands at one place
// stays in the order in which it was found.
func (l *log) sort() {
	slices.SortStableFunc(l.errors, func(a, b *Error) int { return a.compare(b.Position) })
	slices.SortStableFunc(l.warnings, func(a, b Warning) int { return a.compare(b.Position) })
}
