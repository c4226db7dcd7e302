package file

import (
	"bytes"
	"testing"
)

// FuzzReadInfo reads any bytes as what an earlier holder wrote into the lock file.
func FuzzReadInfo(f *testing.F) {
	f.Add([]byte(`{"node":"a","pid":1,"since":"2026-01-02T03:04:05Z","epoch":7}` + "\n"))
	f.Add([]byte(`{"node":"a","epoch":18446744073709551615}`))
	f.Add([]byte(`{"epoch":-1}`))
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		i := readInfo(bytes.NewReader(data))
		if i.String() == "" {
			t.Errorf("%q names nobody", data)
		}
	})
}
