package daemon

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
)

// vendor is an API that takes one token only.
type vendor struct {
	mu    sync.Mutex
	takes string
	used  string // by the adapter that was made last
	calls []time.Time
}

func (v *vendor) revoke(takes string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.takes, v.calls = takes, nil
}

func (v *vendor) called() []time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.calls
}

// tokened puts a vendor in front of the world's zone, with the first token in the
// config, and lets the daemon load a config with what secret gives then.
func (w *world) tokened(secret func() (string, error)) (v *vendor, options []func(*Options)) {
	v = &vendor{takes: "token-one"}
	w.config.Zones[0].Settings.Secrets = map[string]provider.Secret{"api_token": provider.NewSecret("token-one")}
	w.zones[home].Faults(func(memory.Op, int) memory.Fault {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.calls = append(v.calls, time.Now()); v.used != v.takes {
			return memory.Fault{Kind: memory.Refused}
		}
		return memory.Fault{}
	})
	construct := func(o *Options) {
		o.Registry = provider.Registry{"memory": func(s provider.Settings) (provider.Adapter, error) {
			token := s.Secrets["api_token"].Reveal()
			if token == "" {
				return nil, errors.New("api_token: expected an API token, got nothing")
			}
			v.mu.Lock()
			defer v.mu.Unlock()
			v.used = token
			return w.zones[s.Zone].Adapter(w.config.Node.Name), nil
		}}
	}
	return v, []func(*Options){construct, w.reloading(func(next *config.Config) error {
		text, err := secret()
		next.Zones = append([]config.Zone{}, next.Zones...)
		next.Zones[0].Settings.Secrets = map[string]provider.Secret{"api_token": provider.NewSecret(text)}
		return err
	})}
}

// TestCase74RotatedTokenIsTakenUp: the token is revoked while the daemon runs, a
// failover has to be written, and half an hour later a new token is put into the
// file. A reload takes it up without a restart and without waiting for a pause; one
// that finds no token in the file keeps what was.
func TestCase74RotatedTokenIsTakenUp(t *testing.T) {
	for name, options := range map[string]memory.Options{"fenced": class, "unfenced": open} {
		t.Run(name, func(t *testing.T) {
			bubbled(t, func(t *testing.T) {
				w := newWorld(t, options)
				token, broken := "", error(nil)
				v, change := w.tokened(func() (string, error) { return token, broken })
				d := w.run(change...)
				time.Sleep(settled)
				v.revoke("token-two")
				w.site.fail(a)
				time.Sleep(30 * time.Minute)
				w.mustLive(a)
				if z := d.status().Zones[0]; !strings.Contains(z.Error, "the key was refused") {
					t.Errorf("status says %+v", z)
				}
				if err := d.Reload(); err == nil || !strings.Contains(err.Error(), "open zone example.com.: api_token: expected") {
					t.Errorf("an empty file: %v", err)
				}
				if s := d.status(); !strings.Contains(s.Config.Error, "api_token: expected") {
					t.Errorf("status says %+v", s.Config)
				}
				token = "token-two"
				if err := d.Reload(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond)
				if w.mustLive(b); len(w.log.with("changed=zone example.com: api_token changed")) != 1 {
					t.Errorf("the log has %q", w.log.with("reloaded"))
				}
				if z := d.status().Zones[0]; z.Error != "" {
					t.Errorf("status says %+v", z)
				}
				if said := append(w.log.with("token-two"), w.log.with("token-one")...); len(said) > 0 {
					t.Errorf("a token is in the log: %q", said)
				}
				if err := memory.Check(w.zones[home].History()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// What was mended at the vendor, without a change of the config, is tried at once
// after a reload; where nothing failed a reload asks nobody.
func TestReloadTriesWhatFailed(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		v, change := w.tokened(func() (string, error) { return "token-one", nil })
		d := w.run(change...)
		time.Sleep(settled)
		v.revoke("token-one")
		if err := d.Reload(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if n := len(v.called()); n > 0 {
			t.Errorf("%d calls because of a reload that changed nothing", n)
		}
		v.revoke("none")
		w.site.fail(a)
		time.Sleep(30 * time.Minute)
		v.revoke("token-one")
		if err := d.Reload(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		w.mustLive(b)
	})
}

// A zone that sidestep serves itself keeps its server, and with it its settings.
func TestReloadOfAServedZoneIsRefused(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run(func(o *Options) {
			made := o.Registry["memory"]
			o.Registry = provider.Registry{"memory": func(s provider.Settings) (provider.Adapter, error) {
				adapter, err := made(s)
				return served{adapter.(provider.Fencer)}, err
			}}
		}, w.reloading(func(next *config.Config) error {
			next.Zones = append([]config.Zone{}, next.Zones...)
			next.Zones[0].Settings.Late = time.Hour
			return nil
		}))
		time.Sleep(settled)
		if err := d.Reload(); err == nil || !strings.Contains(err.Error(), "zone example.com: late changed: that takes a restart") {
			t.Errorf("got %v", err)
		}
	})
}

// served is an adapter that has a name server of its own.
type served struct{ provider.Fencer }

func (served) Serve(ctx context.Context) error { <-ctx.Done(); return nil }

// Every key of an entry that differs is named, and none that does not.
func TestKeysChangedNamesAll(t *testing.T) {
	was := config.Zone{Name: home, Provider: "memory", Settings: provider.Settings{Options: map[string]string{"region": "x"}}}
	is := was
	is.Settings.Options = maps.Clone(was.Settings.Options)
	if keys := keysChanged(&was, &is); len(keys) > 0 {
		t.Errorf("nothing changed, and got %q", keys)
	}
	is.Provider, is.Verify = "other", config.Verify{DNS: true, Servers: []string{"192.0.2.1:53"}}
	is.Settings = provider.Settings{
		Insecure: true, Late: 1, Lag: 1, Variants: []string{"x"}, Secrets: map[string]provider.Secret{"key": provider.NewSecret("x")},
	}
	want := "insecure key lag late provider region variants of its record sets verify.dns verify.servers"
	if got := strings.Join(keysChanged(&was, &is), " "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
