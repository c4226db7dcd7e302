package daemon

import (
	"testing"

	"sidestep/pkg/config"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

func TestSteeredNames(t *testing.T) {
	c := &config.Config{}
	for _, name := range []record.Name{"www.example.com.", "*.pool.example.com.", "example.org."} {
		c.Records = append(c.Records, &steer.Spec{Key: record.Key{Name: name}})
	}
	var s steered
	s.set(c)
	for name, want := range map[string]string{
		"www.example.com.":      "www.example.com.",
		"a.www.example.com.":    "",
		"example.com.":          "",
		"pool.example.com.":     "",
		"x.pool.example.com.":   "*.pool.example.com.",
		"x.y.pool.example.com.": "*.pool.example.com.",
		"example.org.":          "example.org.",
		"www.example.org.":      "",
		"com.":                  "",
		".":                     "",
	} {
		if got, found := s.find(name); got != want || found != (want != "") {
			t.Errorf("%s: got %q, %t, want %q", name, got, found, want)
		}
	}
	s.set(&config.Config{})
	if got, found := s.find("www.example.com."); found {
		t.Errorf("after a reload without it: got %q", got)
	}
}

func TestLabIsOnLoopback(t *testing.T) {
	zone := func(listen string) config.Zone {
		return config.Zone{Settings: provider.Settings{Options: map[string]string{"listen": listen}}}
	}
	answer := func(value, probe string) []*steer.Spec {
		return []*steer.Spec{{Answers: []steer.Answer{{Value: "192.0.2.1", Probe: "192.0.2.1"}, {Value: value, Probe: probe}}}}
	}
	for name, row := range map[string]struct {
		config config.Config
		want   bool
	}{
		"public":                {config.Config{Zones: []config.Zone{zone(""), zone("192.0.2.53:53"), zone("0.0.0.0:53")}, Records: answer("a.example.net.", "a.example.net.")}, false},
		"private":               {config.Config{Records: answer("10.0.0.1", "10.0.0.1")}, false},
		"an answer":             {config.Config{Records: answer("127.0.0.2", "127.0.0.2")}, true},
		"what is probed":        {config.Config{Records: answer("192.0.2.2", "::1")}, true},
		"a zone that is served": {config.Config{Zones: []config.Zone{zone(""), zone("127.0.0.1:5353")}}, true},
	} {
		var s steered
		s.set(&row.config)
		if got := s.inLab(); got != row.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
