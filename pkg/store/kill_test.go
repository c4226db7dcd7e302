package store_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/store"
)

// The process is killed at any moment of its writing, many times: every file
// can be read, and nothing that was confirmed is lost.
func TestCase30KilledWhileWriting(t *testing.T) {
	dir := t.TempDir()
	last, lines := 0, 0
	s, _ := open(t, dir, store.Options{})
	save(t, s, `{"n":0}`)
	for round := range 27 {
		last = killedWriter(t, dir, last, round%9+1)
		s, l := open(t, dir, store.Options{Now: time.Now})
		var state struct{ N int }
		if l.Status != store.Fresh || json.Unmarshal(l.Payload, &state) != nil || state.N < last {
			t.Fatalf("round %d: %d was confirmed, loaded %+v", round, last, l)
		}
		count := 0
		skipped, err := s.Read(store.Filter{}, func(store.Line) bool { count++; return true })
		if err != nil || skipped > 0 || count < lines {
			t.Fatalf("round %d: journal of %d lines (%d before), %d unreadable, %v", round, count, lines, skipped, err)
		}
		lines = count
		if open, trusted := s.Notes().Pending(); !trusted || len(open) > 1 {
			t.Fatalf("round %d: notes %v, trusted %v", round, open, trusted)
		}
		last = state.N
	}
	if bad := glob(t, dir, "*corrupt*"); len(bad) > 0 {
		t.Errorf("corrupt files: %v", bad)
	}
}

// killedWriter starts a process that writes states without end, kills it after
// some steps of its work, and returns the last state that it confirmed.
func killedWriter(t *testing.T, dir string, from, steps int) int {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), fmt.Sprintf("%s=%d", writerFrom, from), writerDir+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	must(t, err, child.Start())
	last := from
	in := bufio.NewScanner(out)
	for range steps {
		if !in.Scan() {
			t.Fatalf("the writer ended by itself: %v", child.Wait())
		}
		if text, is := strings.CutPrefix(in.Text(), "saved "); is {
			n, err := strconv.Atoi(text)
			must(t, err)
			last = n
		}
	}
	must(t, child.Process.Kill())
	if err := child.Wait(); err == nil {
		t.Fatal("the writer was not killed")
	}
	return last
}

const (
	writerDir  = "STORE_TEST_WRITER_DIR"
	writerFrom = "STORE_TEST_WRITER_FROM"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerDir); dir != "" {
		fmt.Fprintln(os.Stderr, writeForEver(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func writeForEver(dir string) error {
	var from int
	if _, err := fmt.Sscan(os.Getenv(writerFrom), &from); err != nil {
		return err
	}
	s, _, err := store.Open(dir, store.Options{})
	if err != nil {
		return err
	}
	notes := s.Notes()
	if err := notes.Trust(); err != nil {
		return err
	}
	for n := from + 1; ; n++ {
		call := fmt.Sprint("call-", n)
		for _, step := range []struct {
			done string
			do   func() error
		}{
			{"noted", func() error { return notes.Open(call, nil) }},
			{"appended", func() error { return s.Append("write", map[string]any{"pad": strings.Repeat("x", n*997%30000)}) }},
			{"saved", func() error {
				return s.Save(fmt.Appendf(nil, `{"n":%d,"pad":%q}`, n, strings.Repeat("y", n*3701%200000)))
			}},
			{"closed", func() error { return notes.Close(call) }},
		} {
			if err := step.do(); err != nil {
				return err
			}
			fmt.Println(step.done, n)
		}
	}
}
