package ping

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// secondVariable makes a process the second pinger of its namespace.
const secondVariable = "SIDESTEP_PING_TEST_SECOND"

const (
	caseTargets = 100 // that answer, and as many that do not
	caseRounds  = 5
)

// TestCase16OtherPingersAreNotHeard pings 200 addresses at once, of which 100
// answer and 100 are black holes, while a second process does the same and the
// system's ping talks to some of either kind.
//
// Input: many ICMP checks in one namespace, with a raw socket (which hears the
// replies to everybody) and with a datagram one. No black hole is ever answered,
// every other address always is, and no request is answered more than once.
func TestCase16OtherPingersAreNotHeard(t *testing.T) {
	if os.Getenv(secondVariable) != "" {
		crowd(t)
		return
	}
	kinds(t, func(t *testing.T) {
		blackhole(t)
		var all sync.WaitGroup
		all.Go(func() {
			path, err := os.Executable()
			if err != nil {
				t.Error(err)
				return
			}
			cmd := exec.CommandContext(t.Context(), path, "-test.run", "^TestCase16OtherPingersAreNotHeard$", "-test.count=1")
			cmd.Env = append(os.Environ(), secondVariable+"=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("the second pinger: %v\n%s", err, out)
			}
		})
		systemPing(t, &all)
		crowd(t)
		all.Wait()
	})
}

// systemPing runs the system's ping beside, when there is one, towards one
// address that answers and one that does not.
func systemPing(t *testing.T, all *sync.WaitGroup) {
	t.Helper()
	path, err := exec.LookPath("ping")
	if err != nil && os.Getenv("SIDESTEP_TEST_REAL") == "require" {
		t.Fatal(err)
	} else if err != nil {
		t.Log("without the system's ping, of the package iputils-ping: ", err)
		return
	}
	for _, address := range []string{"127.0.2.1", "192.0.2.1"} {
		all.Go(func() {
			cmd := exec.CommandContext(t.Context(), path, "-n", "-q", "-i", "0.01", "-c", "300", "-W", "1", address)
			if out, err := cmd.CombinedOutput(); (err == nil) != (address == "127.0.2.1") {
				t.Errorf("ping %s: %v\n%s", address, err, out)
			}
		})
	}
}

// crowd pings all the addresses of the case at once, and again.
func crowd(t *testing.T) {
	p := new(Pinger)
	for range caseRounds {
		var all sync.WaitGroup
		for i := range 2 * caseTargets {
			address, came, timeout := fmt.Sprintf("127.0.2.%d", i/2+1), 2, patience
			if i%2 == 1 {
				address, came, timeout = fmt.Sprintf("192.0.2.%d", i/2+1), 0, time.Second
			}
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				answer, err := p.Ping(ctx, Ask{Peer: netip.MustParseAddr(address), Count: 3, Need: 2})
				switch {
				case err != nil, came == 0 && answer.Came != 0, answer.Came < came:
					t.Errorf("%s: got %+v, %v, want %d replies", address, answer, err, came)
				case answer.Came > answer.Sent, answer.Sent > 3:
					t.Errorf("%s: %d replies to %d requests", address, answer.Came, answer.Sent)
				}
			})
		}
		all.Wait()
	}
}
