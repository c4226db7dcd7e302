package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

// formatVersion is the version of the envelope and of what is in it. A change
// that an older program would misread raises it.
const formatVersion = 1

// envelope is the file around a payload. SHA256 is of the payload's bytes as
// they stand in the file.
type envelope struct {
	Version *int            `json:"version"`
	SavedAt time.Time       `json:"saved_at"`
	SHA256  string          `json:"sha256"`
	Payload json.RawMessage `json:"payload"`
}

// versionError says that a file is of a newer program.
type versionError struct{ version int }

func (e *versionError) Error() string {
	return fmt.Sprintf("version %d, newer than the %d that this program knows", e.version, formatVersion)
}

// seal writes an envelope around a payload, which write has to write as JSON
// without space before or behind it. The checksum stands behind the payload, so
// that neither has to be held in memory as a whole.
func seal(w io.Writer, at time.Time, write func(io.Writer) error) error {
	saved, err := at.UTC().MarshalJSON()
	if err != nil {
		return fmt.Errorf("the time %v cannot be written: %w", at, err)
	}
	sum := sha256.New()
	if _, err := fmt.Fprintf(w, `{"version":%d,"saved_at":%s,"payload":`, formatVersion, saved); err != nil {
		return err
	}
	if err := write(io.MultiWriter(w, sum)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, `,"sha256":"%x"}`+"\n", sum.Sum(nil))
	return err
}

// compact gives what writes a payload that was made before.
func compact(payload []byte) (func(io.Writer) error, error) {
	var body bytes.Buffer
	if err := json.Compact(&body, payload); err != nil {
		return nil, fmt.Errorf("the payload is not JSON: %w", err)
	}
	return func(w io.Writer) error {
		_, err := w.Write(body.Bytes())
		return err
	}, nil
}

// unseal checks a file and takes the payload out. Its error is a
// *versionError when the file is newer than the program.
func unseal(file []byte) (envelope, error) {
	var e envelope
	var outer struct {
		Version *int `json:"version"`
	}
	if err := json.Unmarshal(file, &outer); err != nil {
		return e, fmt.Errorf("expected a JSON object: %w", err)
	}
	switch v := outer.Version; {
	case v == nil:
		return e, fmt.Errorf("expected a version, got none")
	case *v > formatVersion:
		return e, &versionError{*v}
	case *v < formatVersion:
		return e, fmt.Errorf("expected version %d, got %d", formatVersion, *v)
	}
	if err := json.Unmarshal(file, &e); err != nil {
		return e, fmt.Errorf("expected an envelope of version %d: %w", formatVersion, err)
	}
	sum := sha256.Sum256(e.Payload)
	if got := hex.EncodeToString(sum[:]); got != e.SHA256 {
		return e, fmt.Errorf("expected the checksum %q, got %q", e.SHA256, got)
	}
	return e, nil
}

// readEnvelope reads and checks a file. A missing one is fs.ErrNotExist.
func readEnvelope(path string) (envelope, error) {
	info, err := os.Stat(path)
	if err != nil {
		return envelope{}, err
	}
	if !info.Mode().IsRegular() { // a pipe would block the start for ever
		return envelope{}, fmt.Errorf("expected a file, got %v", info.Mode().Type())
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return envelope{}, err
	}
	return unseal(file)
}
