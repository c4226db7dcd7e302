package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Line is one line of the journal as it was read.
type Line struct {
	At   time.Time
	Kind string
	Raw  json.RawMessage // the whole line, without the line feed
}

// Filter picks lines of the journal; its zero value picks all.
type Filter struct {
	Since, Until time.Time // Since is inside, Until is outside; zero means no bound
	Kinds        []string  // empty means every kind
	Newest       int64     // read about so many bytes at the end of the journal; 0 means all of it
}

func (f Filter) picks(l Line) bool {
	return (f.Since.IsZero() || !l.At.Before(f.Since)) &&
		(f.Until.IsZero() || l.At.Before(f.Until)) &&
		(len(f.Kinds) == 0 || slices.Contains(f.Kinds, l.Kind))
}

// Read gives the picked lines to each, oldest first, until it returns false.
// Lines that are no journal lines are left out and counted. Lines appended
// while it reads may be missing.
func (s *Store) Read(f Filter, each func(Line) bool) (skipped int, err error) {
	return ReadJournal(s.dir, f, each)
}

// ReadJournal is Read for a directory that no Store is open on. It changes
// nothing, so that it can be used beside a running daemon.
func ReadJournal(dir string, f Filter, each func(Line) bool) (skipped int, err error) {
	files, err := openJournals(dir)
	if err != nil {
		return 0, explain("read the journal", err)
	}
	defer func() {
		for _, file := range files {
			err = errors.Join(err, file.Close())
		}
	}()
	if err := skipOld(files, f.Newest); err != nil {
		return 0, explain("read the journal", err)
	}
	for _, file := range files {
		more, bad, err := readLines(file, f, each)
		skipped += bad
		if err != nil {
			return skipped, explain("read the journal", err)
		}
		if !more {
			break
		}
	}
	return skipped, nil
}

// openJournals opens the generations that are there, oldest first. The newest
// is opened first: a rotation between the two then shows one file twice, which
// is noticed, and not none of its lines.
func openJournals(dir string) ([]*os.File, error) {
	var files []*os.File
	var newest fs.FileInfo
	for _, name := range []string{journalFile, rotatedFile} {
		file, err := os.Open(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, errors.Join(err, closeAll(files))
		}
		info, err := file.Stat()
		if err != nil {
			return nil, errors.Join(err, file.Close(), closeAll(files))
		}
		if newest != nil && os.SameFile(newest, info) {
			return files, file.Close()
		}
		newest = info
		files = append([]*os.File{file}, files...)
	}
	return files, nil
}

// skipOld leaves so many bytes to be read, at the end of the last file, and what
// is missing of them at the end of the one before. A reading begins with the
// first whole line.
func skipOld(files []*os.File, newest int64) error {
	if newest <= 0 {
		return nil
	}
	for _, file := range slices.Backward(files) {
		info, err := file.Stat()
		if err != nil {
			return err
		}
		if skip := info.Size() - newest; skip > 0 {
			start, err := lastLine(file, skip)
			if err != nil {
				return err
			}
			if _, err := file.Seek(start, io.SeekStart); err != nil {
				return err
			}
		}
		newest = max(0, newest-info.Size())
	}
	return nil
}

func closeAll(files []*os.File) error {
	var errs []error
	for _, file := range files {
		errs = append(errs, file.Close())
	}
	return errors.Join(errs...)
}

// readLines reads one file; more is false when each wants no more.
func readLines(file io.Reader, f Filter, each func(Line) bool) (more bool, skipped int, err error) {
	in := bufio.NewReader(file)
	for {
		raw, end := in.ReadBytes('\n')
		if end != nil && !errors.Is(end, io.EOF) {
			return false, skipped, end
		}
		if raw = bytes.TrimSpace(raw); len(raw) > 0 {
			line, ok := parseLine(raw)
			switch {
			case !ok:
				skipped++
			case f.picks(line) && !each(line):
				return false, skipped, nil
			}
		}
		if errors.Is(end, io.EOF) {
			return true, skipped, nil
		}
	}
}

func parseLine(raw []byte) (Line, bool) {
	var head struct {
		At   time.Time `json:"at"`
		Kind string    `json:"kind"`
	}
	if err := json.Unmarshal(raw, &head); err != nil || head.Kind == "" {
		return Line{}, false
	}
	return Line{At: head.At, Kind: head.Kind, Raw: raw}, true
}
