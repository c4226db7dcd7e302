package config

import (
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

// DefaultSocket is control.socket where the config does not name one.
const DefaultSocket = "/run/sidestep/control.sock"

// Socket tells where the daemon of a config file listens, for commands that
// only talk to it. Those need neither the secrets, which may be readable by the
// daemon alone, nor a file without a fault: the daemon refused a faulty one and
// goes on with the one before. A file of which nothing can be read stands for
// the default.
func Socket(path string) string {
	var file struct {
		Control struct {
			Socket string `yaml:"socket"`
		} `yaml:"control"`
	}
	data, err := os.ReadFile(path)
	if err != nil || yaml.Unmarshal(data, &file) != nil || file.Control.Socket == "" {
		return DefaultSocket
	}
	socket := file.Control.Socket
	if filepath.IsAbs(socket) {
		return filepath.Clean(socket)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return DefaultSocket
	}
	return filepath.Join(dir, socket)
}
