package authoritytest

import (
	"context"
	"testing"

	"sidestep/pkg/authority"
	"sidestep/pkg/record"
)

// Start serves a zone, written as in a zone file, on a free port of 127.0.0.1 until the
// test ends.
func Start(tb testing.TB, zone record.Name, text string) *authority.Server {
	tb.Helper()
	server := authority.New(authority.Options{})
	Set(tb, server, zone, text)
	if err := server.Listen("127.0.0.1:0"); err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Error(err)
		}
	})
	return server
}

// Set puts a zone in the place of the one that is served.
func Set(tb testing.TB, server *authority.Server, zone record.Name, text string) {
	tb.Helper()
	parsed, err := authority.ParseZone(zone, "test.zone", text)
	if err != nil {
		tb.Error(err)
		return
	}
	server.SetZone(parsed)
}
