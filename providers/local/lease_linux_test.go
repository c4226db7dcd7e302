package local

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sys/unix"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

const (
	firstHalf  = twoAnswers + "www A 192.0.2.3\n"
	secondHalf = "mail A 192.0.2.50 ; by hand\n@ MX 10 mail\n"
)

// needLeases skips a test where the temporary directory knows no leases. It asks
// the kernel itself, so that no fault of takeLease can skip its own tests.
func needLeases(t *testing.T) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "probe"))
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, file)
	if _, err := unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_RDLCK); remote(file) || !errors.Is(err, unix.EAGAIN) {
		t.Skipf("no leases here: expected %v of an open file, got %v", unix.EAGAIN, err)
	}
}

func closed(t *testing.T, file io.Closer) {
	t.Helper()
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}

// beginInPlace truncates a zone file and writes the first half of the next, as
// `generator > zone`, scp and many an editor do.
func beginInPlace(t *testing.T, path string) *os.File {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	goOn(t, file, firstHalf)
	return file
}

func goOn(t *testing.T, file *os.File, text string) {
	t.Helper()
	if _, err := file.WriteString(text); err != nil {
		t.Error(err)
	}
}

// pauseUntilDone lists and pauses 192.0.2.1 until that is accepted, as a
// reconciler does.
func pauseUntilDone(t *testing.T, a *Adapter) {
	t.Helper()
	within(t, "the pause is accepted", func() bool {
		seen, err := a.List(t.Context())
		if err == nil {
			err = a.TakeAway(t.Context(), pauseCall(seen, "192.0.2.1", "192.0.2.2", "1"))
		}
		if class := provider.ClassOf(err); err != nil && class != provider.Retryable && class != provider.Conflict {
			t.Errorf("expected a conflict or a retryable error, got %v", err)
		}
		return err == nil
	})
}

// wantBoth sees that a file has the whole hand edit and our pause.
func wantBoth(t *testing.T, path string) {
	t.Helper()
	text := contentOf(t, path)
	for _, kept := range []string{"www A 192.0.2.2\nwww A 192.0.2.3\n" + secondHalf, "value=192.0.2.1"} {
		if !strings.Contains(text, kept) {
			t.Errorf("%q is lost, in\n%s", kept, text)
		}
	}
}

// TestSlowWriterLosesNothing: somebody who writes the file in place, with a
// pause in the middle, gets all of it in, and so does an edit that goes on
// meanwhile. The pauses give the edit time to go wrong; that it does not hangs
// on none of them.
func TestSlowWriterLosesNothing(t *testing.T) {
	needLeases(t)
	for _, pause := range []time.Duration{100 * time.Millisecond, 300 * time.Millisecond, time.Second, patience + 500*time.Millisecond} {
		t.Run(pause.String(), func(t *testing.T) {
			path, a := newZoneFile(t, twoAnswers)
			writer := beginInPlace(t, path)
			done := make(chan struct{})
			go func() {
				defer close(done)
				time.Sleep(pause)
				goOn(t, writer, secondHalf)
				closed(t, writer)
			}()
			pauseUntilDone(t, a)
			<-done
			wantBoth(t, path)
		})
	}
}

// TestOpenWriter: while somebody has the file open for writing, lists are
// errors that say so, nothing is written, and the last good zone is served;
// when they close it, all goes on.
func TestOpenWriter(t *testing.T) {
	needLeases(t)
	path, a, log := served(t, twoAnswers)
	www := func() string {
		_, values := ask(t, a, "www.example.com.", dns.TypeA)
		return strings.Join(values, " ")
	}
	within(t, "the file is served", func() bool { return www() == "192.0.2.1 192.0.2.2" })
	seen := list(t, a)
	writer := beginInPlace(t, path)
	for what, c := range map[string]struct {
		try   func() error
		class provider.Class
	}{
		"list": {func() error { _, err := a.List(t.Context()); return err }, provider.Retryable},
		"take away": {func() error {
			return a.TakeAway(t.Context(), pauseCall(seen, "192.0.2.1", "192.0.2.2", "1"))
		}, provider.Conflict},
		"claim": {func() error {
			return a.Claim(t.Context(), seen, provider.Stamp{Holder: "test", Nonce: "1"}, nil)
		}, provider.Conflict},
	} {
		err := c.try()
		typed, ok := errors.AsType[*provider.Error](err)
		if !ok || typed.Class != c.class || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "open for writing") || !strings.Contains(err.Error(), "fuser") {
			t.Errorf("%s: expected class %v, the file, the cause and the next step, got %v", what, c.class, err)
		}
	}
	within(t, "the log says why", func() bool { return strings.Contains(log.String(), "open for writing") })
	if got := www(); got != "192.0.2.1 192.0.2.2" {
		t.Errorf("from half a file www is served as %q", got)
	}
	if got := contentOf(t, path); got != firstHalf {
		t.Errorf("the file became\n%s", got)
	}
	goOn(t, writer, secondHalf)
	closed(t, writer)
	within(t, "the whole file is served", func() bool { return www() == "192.0.2.1 192.0.2.2 192.0.2.3" })
	pauseUntilDone(t, a)
	wantBoth(t, path)
	if got := www(); got != "192.0.2.2 192.0.2.3" {
		t.Errorf("after our write www is %q", got)
	}
}

// TestWriteYieldsToAnOpenedFile: who has opened the file after it was read, and
// written nothing yet, does not write into a file that is gone.
func TestWriteYieldsToAnOpenedFile(t *testing.T) {
	needLeases(t)
	path, a := newZoneFile(t, twoAnswers)
	var writer *os.File
	err := a.editLocked(t.Context(), func(doc *document) (*draft, error) {
		var err error
		if writer, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
			t.Fatal(err)
		}
		return doc.draft(), nil
	})
	if f, ok := errors.AsType[*fault](err); !ok || f.class != provider.Conflict {
		t.Errorf("expected a conflict, got %v", err)
	}
	goOn(t, writer, "www A 192.0.2.3\n"+secondHalf)
	closed(t, writer)
	if _, err := os.Stat(path + tempSuffix); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the new file that was not to be is still there: %v", err)
	}
	pauseUntilDone(t, a)
	wantBoth(t, path)
}

// TestLeaseIsAsked: who opens the file for writing while it is leased waits, is
// noticed, and does not end this process by the kernel's signal.
func TestLeaseIsAsked(t *testing.T) {
	needLeases(t)
	path, _ := newZoneFile(t, twoAnswers)
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, file)
	leased, err := takeLease(file)
	if err != nil || !leased.granted || leased.asked() {
		t.Fatalf("expected a lease, got %+v, %v", leased, err)
	}
	opened := make(chan error, 1)
	go func() {
		writer, err := os.OpenFile(path, os.O_WRONLY, 0)
		opened <- errors.Join(err, writer.Close())
	}()
	within(t, "the lease is asked for", leased.asked)
	select {
	case err := <-opened:
		t.Errorf("the writer did not wait: %v", err)
	default:
	}
	leased.drop()
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// withoutLeases runs a test on a thread that may lease no other user's file,
// and gives it a file of another user.
func withoutLeases(t *testing.T, test func(path string, a *Adapter)) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root has a capability to drop and can give files away")
	}
	path, a := newZoneFile(t, twoAnswers)
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
		var caps [2]unix.CapUserData
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		err := unix.Capget(&header, &caps[0])
		caps[0].Effective &^= 1 << unix.CAP_LEASE
		if err := errors.Join(err, unix.Capset(&header, &caps[0])); err != nil {
			t.Error(err)
			return
		}
		test(path, a)
	}()
	<-done
}

// TestBlindListWaitsLonger: where the kernel does not say who writes, a file is
// believed when it has held still for long, and at once when it is our own.
func TestBlindListWaitsLonger(t *testing.T) {
	withoutLeases(t, func(path string, a *Adapter) {
		src, err := readOnce(path)
		if err != nil || src.sure {
			t.Errorf("expected a reading without certainty, got %v, %v", src.sure, err)
		}
		changed := time.Now()
		if err := os.WriteFile(path, []byte(twoAnswers), 0o640); err != nil {
			t.Error(err)
		}
		seen, err := a.List(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		if took := time.Since(changed); took < settlingBlind-50*time.Millisecond { // a file's clock ticks in coarse steps
			t.Errorf("the file was believed after %s", took)
		}
		if err := a.TakeAway(t.Context(), pauseCall(seen, "192.0.2.1", "192.0.2.2", "1")); err != nil {
			t.Error(err)
		}
		if src, err = readOnce(path); err != nil || src.unsettled(time.Now()) > 0 {
			t.Errorf("our own file is not believed: %v", err)
		}
	})
}

// TestUnsettled is the table of how long a file has to hold still.
func TestUnsettled(t *testing.T) {
	path, a := newZoneFile(t, twoAnswers)
	for _, c := range []struct {
		name     string
		sure     bool
		age      time.Duration // of the last change
		seen     time.Duration // since it was found so
		believed bool
	}{
		{"just written, nobody writes", true, 0, 0, false},
		{"a moment old, nobody writes", true, settling, 0, true},
		{"a moment old, who knows", false, settling, 0, false},
		{"long old, who knows", false, settlingBlind, 0, true},
		{"of the future", true, -time.Hour, 0, false},
		{"of the future, watched", true, -time.Hour, settling, true},
		{"of the future, watched, who knows", false, -time.Hour, settling, false},
	} {
		now := time.Now()
		if err := os.Chtimes(path, now, now.Add(-c.age)); err != nil {
			t.Fatal(err)
		}
		src, err := readOnce(path)
		if err != nil {
			t.Fatal(err)
		}
		src.sure = c.sure
		if wait := src.unsettled(now.Add(-c.seen)); (wait <= 0) != c.believed && time.Since(now) < settling {
			t.Errorf("%s: has yet to hold still for %s", c.name, wait)
		}
	}
	settled(t, path, twoAnswers)
	www := keyOf("www", record.A)
	err := a.Add(t.Context(), provider.Call{
		Key: www, Seen: list(t, a), Next: provider.Stamp{Nonce: "1"},
		Add: []record.Change{{Action: record.Create, Key: www, Value: "192.0.2.3"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	src, err := readOnce(path)
	if err != nil || src.unsettled(time.Now()) > 0 {
		t.Errorf("our own file is not believed: %v", err)
	}
}
