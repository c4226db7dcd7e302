package providertest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
)

// Failure is a case that an adapter did not pass.
type Failure struct {
	Case  string
	Texts []string
}

// Check runs the suite without a *testing.T, or only the cases of these names,
// and returns those that failed: for tests that break an adapter on purpose and
// want to see it caught.
func Check(w World, names ...string) []Failure {
	var failures []Failure
	for _, c := range Cases() {
		if len(names) > 0 && !slices.Contains(names, c.Name) {
			continue
		}
		r := &recorder{name: c.Name}
		r.watch(func() { c.on(r, w, new(overview)) })
		if r.failed {
			failures = append(failures, Failure{c.Name, r.texts})
		}
	}
	return failures
}

// recorder is a TB that keeps what a test would print. It is used by the one
// goroutine of its case.
type recorder struct {
	name     string
	ctx      context.Context
	failed   bool
	texts    []string
	cleanups []func()
}

// watch runs a case to its end, which Fatalf and Skipf bring about early.
func (r *recorder) watch(run func()) {
	ctx, cancel := context.WithCancel(context.Background())
	r.ctx = ctx
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer r.cleanup()
		defer cancel()
		defer func() {
			if p := recover(); p != nil {
				r.Errorf("panic: %v", p)
			}
		}()
		run()
	}()
	<-done
}

func (r *recorder) cleanup() {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
}

func (r *recorder) Helper()                  {}
func (r *recorder) Name() string             { return r.name }
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Cleanup(f func())         { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Failed() bool             { return r.failed }
func (r *recorder) Logf(string, ...any)      {}
func (r *recorder) Skipf(string, ...any)     { runtime.Goexit() }

func (r *recorder) TempDir() string {
	dir, err := os.MkdirTemp("", "providertest-*")
	if err != nil {
		r.Fatalf("make a temporary directory: %v", err)
	}
	r.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			r.Errorf("remove a temporary directory: %v", err)
		}
	})
	return dir
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failed = true
	r.texts = append(r.texts, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
