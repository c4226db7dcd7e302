package daemon

import (
	"testing"

	"sidestep/pkg/config"
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
