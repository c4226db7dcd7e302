// Command yardstick measures the whole daemon against a floor: make bench.
//
// It stands below pkg/bench and not in cmd because it is a tool of this tree
// and no program of the product: go install ./cmd/... leaves it out. It is a
// command and no test binary so that it can run for minutes, and so that its
// parts can run as processes of their own, whose CPU time is told apart.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"sidestep/pkg/bench"
)

func main() {
	// The kernel kills a child when the thread that started it ends; the main
	// thread ends with the process.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := bench.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
