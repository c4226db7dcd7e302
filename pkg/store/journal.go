package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

const (
	journalFile = "journal.jsonl"
	rotatedFile = "journal.jsonl.1"
)

// Entry is one line of the journal. Fields is nil or becomes a JSON object,
// whose members stand beside "at" and "kind" and must not be called so.
type Entry struct {
	At     time.Time // zero means now
	Kind   string
	Fields any
}

// Append adds one line to the journal and returns once it is durable.
func (s *Store) Append(kind string, fields any) error {
	return s.AppendAll(Entry{Kind: kind, Fields: fields})
}

// AppendAll adds lines with one write and one fsync. After an error none of
// them can be relied on: a full disk leaves none, a failed fsync may leave
// them all.
func (s *Store) AppendAll(entries ...Entry) error {
	if len(entries) == 0 {
		return nil
	}
	if s.opts.ReadOnly {
		return fmt.Errorf("append to the journal: %w", errLooking)
	}
	var lines []byte
	for _, e := range entries {
		line, err := s.line(e)
		if err != nil {
			return fmt.Errorf("append %q to the journal: %w", e.Kind, err)
		}
		lines = append(lines, line...)
	}
	s.journalMu.Lock()
	defer s.journalMu.Unlock()
	if err := s.write(lines); err != nil {
		return explain("append to "+s.path(journalFile), err)
	}
	return nil
}

// line renders an entry. HTML characters are left as they are: people read
// this with grep.
func (s *Store) line(e Entry) ([]byte, error) {
	at := e.At
	if at.IsZero() {
		at = s.opts.Now()
	}
	head, err := render(struct {
		At   time.Time `json:"at"`
		Kind string    `json:"kind"`
	}{at.UTC(), e.Kind})
	if err != nil || e.Fields == nil {
		return head, err
	}
	fields, err := render(e.Fields)
	if err != nil {
		return nil, err
	}
	if fields[0] != '{' {
		return nil, fmt.Errorf("expected the fields to be a JSON object, got %s", bytes.TrimSpace(fields))
	}
	if err := refuseTaken(fields); err != nil {
		return nil, err
	}
	if fields[1] == '}' {
		return head, nil
	}
	line := append(bytes.TrimSuffix(head, []byte("}\n")), ',')
	return append(line, fields[1:]...), nil
}

// refuseTaken refuses fields that the journal sets itself. Only fields that may
// hold one are read: of ten thousand targets that turn, each is a line.
func refuseTaken(fields []byte) error {
	for _, taken := range []string{"at", "kind"} {
		if !bytes.Contains(fields, []byte(`"`+taken+`":`)) {
			continue
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(fields, &members); err != nil {
			return err
		}
		if _, has := members[taken]; has {
			return fmt.Errorf("a field is called %q, which the journal sets itself", taken)
		}
	}
	return nil
}

// render makes one line of JSON, with the line feed.
func render(v any) ([]byte, error) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return line.Bytes(), nil
}

// write appends whole lines. The file is opened each time, so that whoever
// moves it away gets a new one and loses nothing.
func (s *Store) write(lines []byte) (err error) {
	f, size, err := s.openJournal()
	if err != nil {
		return err
	}
	if size > 0 && size+int64(len(lines)) > s.opts.JournalSize {
		if err := errors.Join(f.Close(), os.Rename(s.path(journalFile), s.path(rotatedFile))); err != nil {
			return err
		}
		if f, size, err = s.openJournal(); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if n, err := f.Write(lines); err != nil {
		return errors.Join(err, takeBack(f, size, n))
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if size == 0 {
		return s.syncDir()
	}
	return nil
}

// takeBack removes the part of a line that a failed write left, unless
// somebody else has appended behind it.
func takeBack(f *os.File, size int64, written int) error {
	info, err := f.Stat()
	if err != nil || written == 0 || info.Size() != size+int64(written) {
		return err
	}
	return f.Truncate(size)
}

// openJournal opens the journal for appending, mends its end and returns its
// size.
func (s *Store) openJournal() (*os.File, int64, error) {
	f, err := os.OpenFile(s.path(journalFile), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, err
	}
	s.giveToOwner(f)
	if err := s.mend(f); err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// mendJournal mends the end of the journal if there is one.
func (s *Store) mendJournal() error {
	if _, err := os.Stat(s.path(journalFile)); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	f, _, err := s.openJournal()
	if err != nil {
		return err
	}
	return f.Close()
}

// mend cuts off a last line that a power cut left incomplete; one that only
// lacks its line feed gets it. Without that the next line would be appended to
// the torn one and both would be lost.
func (s *Store) mend(f *os.File) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return err
	}
	start, err := lastLine(f, info.Size())
	if err != nil || start == info.Size() {
		return err
	}
	tail := make([]byte, info.Size()-start)
	if _, err := f.ReadAt(tail, start); err != nil {
		return err
	}
	if json.Valid(tail) {
		_, err := f.Write([]byte("\n"))
		return err
	}
	s.log.Warn("the last line of the journal was torn and is cut off", "bytes", len(tail))
	return f.Truncate(start)
}

// lastLine is the offset behind the last line feed.
func lastLine(f io.ReaderAt, size int64) (int64, error) {
	block := make([]byte, 4096)
	for end := size; end > 0; {
		start := max(0, end-int64(len(block)))
		part := block[:end-start]
		if _, err := f.ReadAt(part, start); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return start + int64(i) + 1, nil
		}
		end = start
	}
	return 0, nil
}
