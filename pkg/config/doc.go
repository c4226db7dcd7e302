// Package config reads the one config file of sidestep and hands out validated,
// typed values: what to probe (check.Spec), what each name may answer with
// (steer.Spec), where the zones are and how to sign in there
// (provider.Settings), and the settings of the node itself.
//
// The road of a file has four steps, each in a file of its own. tree.go reads
// YAML nodes with their positions and refuses what makes YAML surprising:
// tags, anchors, merge keys, duplicate keys, octal-looking numbers, a second
// document. fit.go holds the tree against the schema (schema*.go), one table
// that knows every key, its kind, its default and its meaning, and that also
// makes CONFIG.md. build*.go turn what fits into typed values. rules.go checks
// what only shows when all record sets are seen together. Every step collects
// its errors with file, line, column and key; none stops at the first.
//
// viper is used for what it is good at, flags and environment (find.go), and
// never for the keys of the file: it folds their case and splits them at dots,
// and both mean something in a zone.
//
// The package never opens a socket, never writes a file, never changes what it
// handed out, and never shows a secret: not in errors, not in warnings, not in
// Show. It starts no goroutine; a Config may be shared by readers.
//
// Drawbacks that were accepted: no includes and no variables in the file (a
// reader sees everything in one place); anchors are refused although YAML has
// them (defaults: does what they are mostly used for).
//
// The road goes on in pkg/daemon and pkg/cli, which give the values to the
// rooms that need them.
package config
