package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// The environment that turns the test binary into a process that edits.
const (
	childFile  = "SIDESTEP_LOCAL_TEST_FILE"
	childEdits = "SIDESTEP_LOCAL_TEST_EDITS" // how many edits to make; 0 edits until it is killed
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		edits, err := strconv.Atoi(os.Getenv(childEdits))
		if err == nil {
			err = keepEditing(path, edits)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// keepEditing takes www's values out and brings them back, as a writer that
// claims the zone whenever another has it, and prints a line for each write
// that was accepted.
func keepEditing(path string, edits int) error {
	a, err := build(provider.Settings{Zone: zone, Options: map[string]string{"file": path}})
	if err != nil {
		return err
	}
	holder := fmt.Sprintf("pid-%d", os.Getpid())
	for done := 0; edits == 0 || done < edits; {
		wrote, err := oneEdit(a, holder)
		switch class := provider.ClassOf(err); {
		case err == nil:
			fmt.Println("wrote")
			done += wrote
		case class != provider.FencedOut && class != provider.Conflict:
			return err
		}
	}
	return nil
}

// oneEdit makes one claim or one edit; wrote counts the edits only.
func oneEdit(a *Adapter, holder string) (wrote int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	seen, err := a.List(ctx)
	if err != nil {
		return 0, err
	}
	next := provider.Stamp{Holder: holder, Nonce: strconv.FormatUint(rand.Uint64(), 16)}
	if len(seen.Stamps) != 1 || seen.Stamps[0].Holder != holder {
		return 0, a.Claim(ctx, seen, next, nil)
	}
	www := keyOf("www", record.A)
	call := provider.Call{Key: www, Seen: seen, Next: next}
	set := seen.Set(www)
	for _, answer := range set.Answers {
		if !answer.Live {
			call.Add = []record.Change{{Action: record.Resume, Key: www, Value: answer.Value}}
			return 1, a.Add(ctx, call)
		}
	}
	i := rand.IntN(len(set.Answers))
	for j, answer := range set.Answers {
		if j != i {
			call.Survivors = append(call.Survivors, answer.Value)
		}
	}
	call.Away = []record.Change{{Action: record.Pause, Key: www, Value: set.Answers[i].Value}}
	return 1, a.TakeAway(ctx, call)
}

// child starts this test binary as a process that edits.
func child(t *testing.T, path string, edits int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childFile+"="+path, childEdits+"="+strconv.Itoa(edits))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

const threeAnswers = `$TTL 300
; nothing of this file may get lost
@ IN SOA ns hostmaster 7 3600 600 86400 60
@ IN NS ns.example.net.
www A 192.0.2.1 ; one
    A 192.0.2.2 ; two
    A 192.0.2.3 ; three
    TXT "beside"
`

// intact sees that a text is a whole zone in which www answers and has lost
// nothing.
func intact(text string) error {
	doc, err := parse(zone, text)
	if err != nil {
		return fmt.Errorf("%w, in\n%s", err, text)
	}
	set := doc.snapshot().Set(keyOf("www", record.A))
	if len(set.Answers) != 3 || len(set.Live()) < 2 {
		return fmt.Errorf("www has %+v, in\n%s", set.Answers, text)
	}
	for _, kept := range []string{"; nothing of this file", "; one", "; two", "; three", `TXT "beside"`} {
		if !strings.Contains(text, kept) {
			return fmt.Errorf("%q is lost, in\n%s", kept, text)
		}
	}
	return nil
}

// TestKilledWriterLeavesAWholeFile: whenever the process is killed, the file is
// the old one or the new one, and the next writer goes on from it.
func TestKilledWriterLeavesAWholeFile(t *testing.T) {
	path, a := newZoneFile(t, threeAnswers)
	rounds := 40
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		cmd, lines := child(t, path, 0)
		for range 1 + rand.IntN(6) {
			if !lines.Scan() {
				t.Fatalf("the child ended by itself: %v", lines.Err())
			}
		}
		time.Sleep(rand.N(2 * time.Millisecond)) // anywhere in the next edit: no outcome hangs on it
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child was not killed")
		}
		if err := intact(contentOf(t, path)); err != nil {
			t.Fatal(err)
		}
		list(t, a)
	}
}

// TestTwoProcesses: with two writers at once no write is lost, the zone is
// whole and answers in every moment, and exactly the accepted writes are in it.
func TestTwoProcesses(t *testing.T) {
	path, a := newZoneFile(t, threeAnswers)
	const edits = 40
	var group sync.WaitGroup
	wrote := make([]int, 2)
	for i := range wrote {
		cmd, lines := child(t, path, edits)
		group.Go(func() {
			for lines.Scan() {
				wrote[i]++
			}
			if err := errors.Join(lines.Err(), cmd.Wait()); err != nil {
				t.Errorf("child %d: %v", i, err)
			}
		})
	}
	ended := make(chan struct{})
	go func() { group.Wait(); close(ended) }()
	for looking := true; looking; {
		select {
		case <-ended:
			looking = false
		default:
		}
		if err := intact(contentOf(t, path)); err != nil {
			t.Error(err)
			looking = false
		}
	}
	<-ended
	if got, want := list(t, a).Version, strconv.Itoa(7+wrote[0]+wrote[1]); got != want {
		t.Errorf("serial %s after %v accepted writes, want %s: a write was lost", got, wrote, want)
	}
}
