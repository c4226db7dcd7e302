package config

import (
	"errors"
	"io/fs"
	"os"
)

// Options is what Load and Parse take from the world around them. The zero
// value takes it from the real one.
type Options struct {
	Getenv   func(string) string           // os.Getenv
	Open     func(string) (fs.File, error) // os.Open; for the config and for file: and credential: secrets
	Hostname func() (string, error)        // os.Hostname; asked only when node.name is not given
	UID      func() int                    // os.Geteuid; who may own the config, apart from root
	Abs      func(string) (string, error)  // filepath.Abs; makes relative paths absolute

	SkipSecrets    bool // no secret is read: all are empty, and unreadable ones are no error
	AllowNoRecords bool // a config without record sets is no error: for commands that only need the zones
}

// Load reads, checks and types the config file at path. It refuses a file that
// others can write or that belongs to somebody else than root or the user. The
// error is Errors for a file whose content is wrong.
func Load(path string, opts Options) (*Config, error) {
	return nil, errors.ErrUnsupported
}

// Parse checks and types a config that was read already. file is its name in
// messages, and relative paths in it count from that file's folder.
func Parse(file string, data []byte, opts Options) (*Config, error) {
	_ = os.Getenv
	return nil, errors.ErrUnsupported
}

// Show is the effective config as YAML, every default written out, every secret
// masked. Load takes it again and makes an equal Config, apart from secrets,
// positions and warnings.
func (c *Config) Show() []byte { return nil }
