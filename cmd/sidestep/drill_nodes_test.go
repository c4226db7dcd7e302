package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/authority/authoritytest"
)

// mirror is a name server that answers with what a cloud holds: its API has none.
func (l *zoneLock) mirror() string {
	l.Helper()
	text := func() string {
		text := "@ 60 IN SOA ns1 h 1 60 60 60 1\n@ 60 IN NS ns1\n"
		for value := range strings.FieldsSeq(l.cloud.live()) {
			text += "www 1 IN A " + value + "\n"
		}
		return text
	}
	server := authoritytest.Start(l, "example.com.", text())
	ctx, stop := context.WithCancel(context.Background())
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		for ctx.Err() == nil {
			authoritytest.Set(l, server, "example.com.", text())
			time.Sleep(20 * time.Millisecond)
		}
	}()
	l.Cleanup(func() {
		stop()
		<-copied
	})
	return server.Addr()
}

// TestDrillOfTwoNodes rehearses at the node that stands by, which refuses, and at the
// one that leads, with the zone at Cloudflare between them.
func TestDrillOfTwoNodes(t *testing.T) {
	t.Parallel()
	l := newZoneLock(t)
	dns := l.mirror()
	for _, n := range l.nodes {
		text, err := os.ReadFile(n.config)
		l.must(err)
		with := strings.Replace(string(text), "verify: {dns: false}", fmt.Sprintf("verify: {dns: false, servers: [%q]}", dns), 1)
		l.must(os.WriteFile(n.config, []byte(with), 0o600))
	}
	first, second := l.nodes[0], l.nodes[1]
	first.start()
	first.says("leader", "mon-1")
	second.start()
	second.says("standby", "mon-1")
	first.waitUp(2)
	_, port, err := net.SplitHostPort(l.backends[0].Addr())
	l.must(err)
	args := []string{"drill", "www", "--resolver", dns, "--url", "http://www.example.com:" + port + "/healthz", "--identity", "json:backend"}
	if code, out, errOut := second.sidestep(args...); code != 4 || out != "" || !strings.Contains(errOut, "node mon-2 does not write here: the leader is mon-1") {
		t.Errorf("at the standby it exited with %d:\n%s%s", code, out, errOut)
	}
	if code, out, errOut := first.sidestep(args...); code != 0 || !strings.Contains(out, "it went out and came back, and no request was lost") {
		t.Errorf("at the leader it exited with %d:\n%s%s", code, out, errOut)
	}
	l.answers(walkAnswers[0])
	if s := first.status(); s == nil || len(s.Overrides) > 0 {
		t.Errorf("left: %+v", s)
	}
	if changes, _ := l.effects(); changes < 2 {
		t.Errorf("%d changes of answers, expected the way out and the way back", changes)
	}
}
