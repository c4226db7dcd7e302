package main

import (
	"strings"
	"testing"
)

const passing = `{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"pass","Package":"p","Elapsed":0.5}
`

const skipping = passing + `{"Action":"output","Package":"q","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Package":"q","Test":"TestB","Output":"    b_test.go:3: no named here\n"}
{"Action":"output","Package":"q","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
{"Action":"skip","Package":"q","Test":"TestB","Elapsed":0}
{"Action":"pass","Package":"q","Elapsed":0}
`

const inapplicable = passing + `{"Action":"output","Package":"q","Test":"TestB","Output":"    b_test.go:3: does not apply: no weights\n"}
{"Action":"skip","Package":"q","Test":"TestB","Elapsed":0}
{"Action":"output","Package":"q","Test":"TestC","Output":"    l_test.go:220: ZoneLister not implemented by provider\n"}
{"Action":"skip","Package":"q","Test":"TestC","Elapsed":0}
`

const failing = passing + `{"Action":"output","Package":"q","Test":"TestB","Output":"    b_test.go:3: got 1, want 2\n"}
{"Action":"fail","Package":"q","Test":"TestB","Elapsed":0}
{"Action":"fail","Package":"q","Elapsed":0}
`

const unbuilt = passing + `{"ImportPath":"r [r.test]","Action":"build-output","Output":"r.go:4: undefined: x\n"}
{"ImportPath":"r [r.test]","Action":"build-fail"}
{"Action":"fail","Package":"r","Elapsed":0,"FailedBuild":"r [r.test]"}
`

const dying = passing + `{"Action":"output","Package":"q","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Package":"q","Test":"TestB","Output":"panic: deadlock in a bubble\n"}
{"Action":"output","Package":"q","Output":"FAIL\tq\t3s\n"}
{"Action":"fail","Package":"q","Elapsed":3}
`

func TestCounts(t *testing.T) {
	tests := map[string]struct {
		in      string
		require bool
		code    int
		says    []string
		last    string
	}{
		"all pass":               {in: passing, says: []string{"ok    p  500ms"}, last: "1 passed, 0 failed, 0 skipped"},
		"a skip has its reason":  {in: skipping, says: []string{"skipped  q.TestB: b_test.go:3: no named here"}, last: "1 passed, 0 failed, 1 skipped"},
		"a skip may be required": {in: skipping, require: true, code: 1, says: []string{"a skipped test is a failure"}, last: "1 passed, 0 failed, 1 skipped"},
		"some cannot apply":      {in: inapplicable, require: true, says: []string{"left out  2 cases"}, last: "1 passed, 0 failed, 0 skipped"},
		"a failure is shown":     {in: failing, code: 1, says: []string{"FAIL  q.TestB", "got 1, want 2", "\nfailed   q.TestB: b_test.go:3: got 1, want 2\n1 passed"}, last: "1 passed, 1 failed, 0 skipped"},
		"no build is a failure":  {in: unbuilt, code: 1, says: []string{"FAIL  r", "undefined: x"}, last: "1 passed, 1 failed, 0 skipped"},
		"a death is shown":       {in: dying, code: 1, says: []string{"FAIL  q", "\npanic: deadlock", "\nfailed   q: panic: deadlock in a bubble\n"}, last: "1 passed, 1 failed, 0 skipped"},
		"nothing ran":            {in: "go: no such module\n", code: 1, says: []string{"go: no such module"}, last: "0 passed, 0 failed, 0 skipped"},
		"other lines pass":       {in: "# warning\n" + passing, says: []string{"# warning\n"}, last: "1 passed, 0 failed, 0 skipped"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if code := run(strings.NewReader(test.in), &out, test.require); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			for _, text := range test.says {
				if !strings.Contains(out.String(), text) {
					t.Errorf("output lacks %q:\n%s", text, out.String())
				}
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if last := lines[len(lines)-1]; last != test.last {
				t.Errorf("last line %q, want %q", last, test.last)
			}
		})
	}
}
