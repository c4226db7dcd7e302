package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/lab"
	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/record"
	"sidestep/providers/rfc2136/rfc2136test"
)

// pair is two zones at two providers, steered by one sidestep: example.com at a
// hosted one, example.net at a name server of our own.
type pair struct {
	*walk

	own *world
}

func newPair(t *testing.T, h hosted) *pair {
	t.Helper()
	own := newWorld(t, func(t testing.TB, zone rfc2136test.Zone) *rfc2136test.Server {
		zone.Name = "example.net."
		zone.Text = strings.ReplaceAll(zone.Text, "$ORIGIN example.com.", "$ORIGIN example.net.")
		return rfc2136test.StartBIND(t, zone)
	})
	p := &pair{walk: newWalk(t, h, false, walkAnswers[0]), own: own}
	own.env = p.cloud.environ()
	return p
}

// write makes the config of both zones.
func (p *pair) write() {
	p.Helper()
	_, port, err := net.SplitHostPort(p.own.backends[0].Addr())
	p.must(err)
	text := p.cloud.configFor(p.own.dir, outsidePace, port, p.front)
	text = strings.Replace(text, "max: 400ms", "max: 2s", 1)
	key := p.own.server.Key
	text = strings.Replace(text, "zones:\n", fmt.Sprintf(
		"zones:\n  - {zone: example.net, provider: rfc2136, server: %q, tsig: {name: %s, algorithm: %s, secret: %s}}\n",
		p.own.server.Addr, key.Name, key.Algorithm, key.Secret), 1)
	text += fmt.Sprintf("  - {name: www.example.net, check: web, answers: [%s]}\n", strings.Join(walkAnswers, ", "))
	p.must(os.WriteFile(p.own.config, []byte(text), 0o600))
}

// hostedZone is the hosted zone in status.
func (p *pair) hostedZone() control.Zone {
	s := p.own.mustStatus()
	i := slices.IndexFunc(s.Zones, func(z control.Zone) bool { return z.Zone == "example.com." })
	return s.Zones[i]
}

// failsOverAtHome kills the first server and waits until the own zone answers
// without it.
func (p *pair) failsOverAtHome() {
	p.Helper()
	died := time.Now()
	p.must(p.own.backends[0].Break(lab.Refuse))
	p.wait("www.example.net to answer without the dead address", func() bool {
		return slices.Equal(p.own.ask("www.example.net.", record.A), walkAnswers[1:])
	})
	p.Logf("failed over in %s beside a provider in trouble", time.Since(died).Round(time.Millisecond))
}

// waitJudged waits until all servers are judged to be up.
func (p *pair) waitJudged() {
	p.Helper()
	p.wait("the servers to be up", func() bool {
		s := p.own.status()
		return s != nil && s.Leader.State == "leader" && !slices.ContainsFunc(s.Targets, func(t control.Target) bool { return t.Verdict != "up" })
	})
}

// TestCase74CredentialRevokedMidRun takes the credential of one zone away while
// the daemon runs, and a server dies. Probing goes on, the other zone is
// written, status says which zone is not and what to do, the API is not called
// in a loop, and once the credential is good again nobody has to restart.
func TestCase74CredentialRevokedMidRun(t *testing.T) {
	t.Parallel()
	for _, h := range hostedProviders {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, h)
			p.write()
			run := p.own.run()
			p.waitJudged()
			p.wait("the zone to be listed", func() bool { return p.hostedZone().Listed })
			p.front.down.Store(&h.revoked)
			p.front.Forget()
			began := time.Now()
			p.failsOverAtHome()
			p.wait("status to say so", func() bool { return p.hostedZone().Error != "" })
			t.Logf("status: %s", p.hostedZone().Error)
			if !strings.Contains(p.hostedZone().Error, "sidestep validate --online") {
				t.Errorf("status names no next command: %q", p.hostedZone().Error)
			}
			time.Sleep(3 * time.Second) // the length of the trouble is the case itself
			if s := p.own.mustStatus(); s.Targets[0].Verdict != "down" {
				t.Errorf("probing did not go on: %+v", s.Targets)
			}
			if n, most := len(p.front.Requests()), 2+int(time.Since(began)/(30*time.Second)); n > most {
				t.Errorf("%d requests in %s of trouble, want %d at most", n, time.Since(began), most)
			}
			if live := p.cloud.live(); live != walkAnswers[0] {
				t.Errorf("the zone answers with %s, and nobody could write it", live)
			}
			p.front.down.Store(nil)
			if err := run.cmd.Process.Signal(syscall.SIGHUP); err != nil { // else it is tried within a minute
				t.Fatal(err)
			}
			p.wait("the zone to be written", func() bool { return p.cloud.live() == walkAnswers[1] && p.hostedZone().Error == "" })
			if code := run.stop(t); code != 0 {
				t.Errorf("sidestep ended with %d", code)
			}
		})
	}
}

// TestCase74TokenReplacedInItsFile revokes the token in a secret file while the
// daemon runs, and a server dies. Another is put into the file, and SIGHUP is all
// that it takes: the zone is written at once, and neither token is in the log.
func TestCase74TokenReplacedInItsFile(t *testing.T) {
	t.Parallel()
	p := newPair(t, hostedProviders[0])
	p.write()
	config, err := os.ReadFile(p.own.config)
	p.must(err)
	good := regexp.MustCompile(`api_token: "?([^"\s]+)`).FindSubmatch(config)[1]
	file := filepath.Join(t.TempDir(), "token")
	const old = "an0ther-t0ken-that-was-revoked-l0ng-ag0"
	p.must(os.WriteFile(file, []byte(old+"\n"), 0o600))
	p.must(os.WriteFile(p.own.config, bytes.Replace(config, good, []byte("file:"+file), 1), 0o600))
	run := p.own.run()
	p.waitJudged()
	p.failsOverAtHome()
	p.wait("status to say so", func() bool { return p.hostedZone().Error != "" })
	p.must(os.WriteFile(file, append(good, '\n'), 0o600))
	if live := p.cloud.live(); live != walkAnswers[0] {
		t.Errorf("the zone answers with %s before the token is taken up", live)
	}
	p.must(run.cmd.Process.Signal(syscall.SIGHUP))
	p.wait("the zone to be written", func() bool { return p.cloud.live() == walkAnswers[1] && p.hostedZone().Error == "" })
	log := run.log.String()
	if !strings.Contains(log, "zone example.com: api_token changed") || strings.Contains(log, old) || strings.Contains(log, string(good)) {
		t.Errorf("the log:\n%s", log)
	}
	if code := run.stop(t); code != 0 {
		t.Errorf("sidestep ended with %d", code)
	}
}

// TestCase78OneProviderDead lets one provider be out of reach from the start, or
// answer with nothing but errors, and a server die: the zone of the other one is
// written in the usual time, and status names the trouble.
func TestCase78OneProviderDead(t *testing.T) {
	t.Parallel()
	for _, h := range hostedProviders {
		for _, trouble := range []httpfake.Fault{{Name: "no answer"}, {Name: "503", Status: 503}, {Name: "page", Status: 200, Header: htmlHeader, Body: htmlPage}} {
			t.Run(h.name+" "+trouble.Name, func(t *testing.T) {
				t.Parallel()
				p := newPair(t, h)
				p.write()
				p.front.down.Store(&trouble)
				run := p.own.run()
				p.waitJudged()
				p.failsOverAtHome()
				p.wait("status to say so", func() bool { return p.hostedZone().Error != "" })
				t.Logf("status: %s", p.hostedZone().Error)
				if code := run.stop(t); code != 0 {
					t.Errorf("sidestep ended with %d", code)
				}
			})
		}
	}
}

// TestCase40BadProfileEndsNothing names a profile that the shared AWS files do not
// have, files that are none, and files that cannot be read: the daemon goes on
// with the other zone and says which profile it is, and so does validate.
func TestCase40BadProfileEndsNothing(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(hostedProviders, func(h hosted) bool { return h.name == "route53" })
	for name, env := range map[string][]string{
		"no such profile": {"AWS_PROFILE=nosuchprofile", "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null"},
		"malformed":       {"AWS_PROFILE=nosuchprofile", "AWS_CONFIG_FILE=front_test.go"},
		"unreadable":      {"AWS_PROFILE=nosuchprofile", "AWS_CONFIG_FILE=/nonexistent/config", "AWS_SHARED_CREDENTIALS_FILE=/nonexistent/credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, hostedProviders[i])
			p.cloud.keys = "provider: route53\nendpoint: " + p.cloud.url + "\n"
			p.own.env = append(env, "AWS_EC2_METADATA_DISABLED=true")
			p.write()
			run := p.own.run()
			p.waitJudged()
			p.failsOverAtHome()
			p.wait("status to say so", func() bool { return strings.Contains(p.hostedZone().Error, "nosuchprofile") })
			t.Logf("status: %s", p.hostedZone().Error)
			if code, _, errOut := p.own.sidestep("validate"); code != 2 || !strings.Contains(errOut, "nosuchprofile") {
				t.Errorf("validate exited with %d, want 2 and the profile's name:\n%s", code, errOut)
			}
			if code := run.stop(t); code != 0 {
				t.Errorf("sidestep ended with %d", code)
			}
		})
	}
}
