package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/engine"
)

func TestStateIsValidAsItIsWritten(t *testing.T) {
	e := engine.New(engine.Config{}, engine.Now{Boot: time.Hour})
	text, err := json.Marshal(e.State())
	if err != nil {
		t.Fatal(err)
	}
	var state engine.State
	if err := json.Unmarshal(text, &state); err != nil || state.Validate() != nil {
		t.Errorf("%s: %v, %v", text, err, state.Validate())
	}
}

func TestStateOfNonsenseIsNotValid(t *testing.T) {
	for text, want := range map[string]string{
		`null`:                             "expected targets",
		`{}`:                               "expected targets",
		`{"sets":[]}`:                      "expected targets",
		`{"targets":{"web@192.0.2.1":{}}}`: `expected a verdict, got ""`,
		`{"targets":{"web@192.0.2.1":{"verdict":"banana"}}}`:                                                              "banana",
		`{"targets":{"web@192.0.2.1":{"verdict":"up","passes":-1}}}`:                                                      "got -1",
		`{"targets":{"web@192.0.2.1":{"verdict":"up","fails":9223372036854775807}}}`:                                      "9223372036854775807",
		`{"targets":{},"sets":[{"key":{"Zone":"example.com.","Name":"","Type":"A"}}]}`:                                    "name and type",
		`{"targets":{},"sites":{"dc1":{"waiting":{"outage":-1}}}}`:                                                        `site "dc1": expected the length of an outage`,
		`{"targets":{},"sites":{"dc1":{"outages":{"web@192.0.2.1":{"counted":-5}}}}}`:                                     `outage of "web@192.0.2.1"`,
		`{"targets":{},"overrides":[{"kind":"melt","target":"192.0.2.1","reason":"test","from":"2026-01-02T12:00:00Z"}]}`: `"melt"`,
		`{"targets":{},"overrides":[{"kind":"drain","target":"192.0.2.1","reason":"test"}]}`:                              "the time at which it begins",
	} {
		var state engine.State
		if err := json.Unmarshal([]byte(text), &state); err != nil {
			t.Fatal(err)
		}
		if err := state.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
