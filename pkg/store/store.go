package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// The reasons a write can fail for that a caller may want to tell apart.
var (
	// ErrFull says that the disk or the quota has no room left.
	ErrFull = errors.New("no space left for the state")
	// ErrReadOnly says that the directory cannot be written to: a read-only
	// file system, or no permission.
	ErrReadOnly = errors.New("the state directory cannot be written to")
	// ErrNewer says that the snapshot is of a newer version of the program.
	ErrNewer = errors.New("the state is of a newer version")
)

// DefaultJournalSize is how large the journal grows before it is rotated.
const DefaultJournalSize = 16 << 20

// Options are what a Store works with; the zero value is usable.
type Options struct {
	Logger      *slog.Logger     // nil logs nothing
	Now         func() time.Time // wall clock; nil means time.Now
	MaxAge      time.Duration    // a snapshot older than this is stale; 0 means none is
	JournalSize int64            // bytes at which the journal is rotated; 0 means DefaultJournalSize
	ReadOnly    bool             // look, and change nothing: the directory is another process's, and every write fails with ErrReadOnly
}

// Store is the state of one node in one directory. Its methods may be called
// from many goroutines.
type Store struct {
	dir  string
	opts Options
	log  *slog.Logger

	mu      sync.Mutex // one writer of the snapshot at a time
	good    bool       // state.json is known to be whole, so that it may become the generation before
	savedAt time.Time  // see SavedAt
	refuse  error      // why nothing may be saved; nil when it may
	unkept  error      // why the last save kept no older generation; nil when it did

	journalMu sync.Mutex
}

// Open makes the directory if it is missing (mode 0750, files 0600), reads the
// snapshot and mends the end of the journal. A snapshot that cannot be used is
// no error: Loaded says what was found. Open fails only when there is no
// directory to work in, which is no error for one who only looks.
func Open(dir string, o Options) (*Store, Loaded, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.JournalSize <= 0 {
		o.JournalSize = DefaultJournalSize
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Store{dir: dir, opts: o, log: o.Logger}
	if o.ReadOnly {
		return s.look()
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, Loaded{}, explain("open the state directory", err)
	}
	if _, err := os.ReadDir(dir); err != nil {
		return nil, Loaded{}, explain("open the state directory", err)
	}
	s.sweep()
	loaded := s.load()
	if err := unix.Access(dir, unix.W_OK); err != nil {
		loaded.Unwritable = explain("open the state directory "+dir, err)
	} else if err := s.mendJournal(); err != nil {
		s.log.Error("the journal could not be mended", "error", err)
	}
	return s, loaded, nil
}

// errLooking is why a store that was opened to look writes nothing.
var errLooking = fmt.Errorf("%w: it was opened to look only", ErrReadOnly)

// look reads the snapshot and changes nothing.
func (s *Store) look() (*Store, Loaded, error) {
	s.refuse = errLooking
	_, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return s, Loaded{Status: Absent}, nil
	}
	if err != nil {
		return nil, Loaded{}, explain("look into the state directory", err)
	}
	return s, s.load(), nil
}

// Dir is the directory of the store.
func (s *Store) Dir() string { return s.dir }

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// leftoverAge is how old a temporary file must be to be nobody's: no write
// takes that long.
const leftoverAge = time.Hour

// sweep removes the temporary files of processes that were killed.
func (s *Store) sweep() {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		s.log.Error("the state directory could not be swept", "error", err)
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "."+stateFile) && !strings.HasPrefix(e.Name(), "."+notesFile) {
			continue
		}
		info, err := e.Info()
		if err != nil || s.opts.Now().Sub(info.ModTime()) < leftoverAge {
			continue
		}
		if err := os.Remove(s.path(e.Name())); err != nil {
			s.log.Warn("a leftover of a killed process could not be removed", "error", err)
		}
	}
}

// replace writes a file whole: after it returned nil, neither a kill nor a
// power cut brings the old content back; before, neither takes it away.
func (s *Store) replace(name string, write func(io.Writer) error) (err error) {
	if s.opts.ReadOnly {
		return fmt.Errorf("write %s: %w", s.path(name), errLooking)
	}
	defer func() {
		if err != nil {
			err = explain("write "+s.path(name), err)
		}
	}()
	f, err := renameio.NewPendingFile(s.path(name), renameio.WithTempDir(s.dir), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Cleanup())
		}
	}()
	s.giveToOwner(f.File)
	out := bufio.NewWriterSize(f, 32<<10)
	if err := errors.Join(write(out), out.Flush()); err != nil {
		return err
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return err
	}
	return s.syncDir()
}

// giveToOwner makes a file that root wrote belong to whom the directory
// belongs to: a command that was run by root must not lock the daemon out.
func (s *Store) giveToOwner(f *os.File) {
	if os.Geteuid() != 0 {
		return
	}
	var dir, file unix.Stat_t
	err := errors.Join(unix.Stat(s.dir, &dir), unix.Fstat(int(f.Fd()), &file))
	if err == nil && (dir.Uid != file.Uid || dir.Gid != file.Gid) {
		err = f.Chown(int(dir.Uid), int(dir.Gid))
	}
	if err != nil {
		s.log.Warn("a file could not be given to the owner of its directory", "file", f.Name(), "error", err)
	}
}

// syncDir makes renames and removals in the directory durable; fsync of the
// file alone does not (fsync(2)).
func (s *Store) syncDir() error {
	d, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// explain says what was done when an error came, and makes it one of ErrFull
// and ErrReadOnly when it is.
func explain(what string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%s: %w: %w; free some space", what, ErrFull, err)
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return fmt.Errorf("%s: %w: %w; mount it writable and let it belong to the user of the daemon", what, ErrReadOnly, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
