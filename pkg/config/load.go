package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Options is what Load and Parse take from the world around them. The zero
// value takes it from the real one.
type Options struct {
	Getenv   func(string) string           // os.Getenv
	Open     func(string) (fs.File, error) // os.Open; for the config and for file: and credential: secrets
	Hostname func() (string, error)        // os.Hostname; asked only when node.name is not given
	UID      func() int                    // os.Geteuid; who may own the config, apart from root
	Abs      func(string) (string, error)  // filepath.Abs; makes the config's folder absolute

	SkipSecrets    bool // no secret is read: all are empty, and unreadable ones are no error
	AllowNoRecords bool // a config without record sets is no error: for commands that only need the zones
}

func (o Options) withDefaults() Options {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Open == nil {
		o.Open = func(path string) (fs.File, error) { return os.Open(path) }
	}
	if o.Hostname == nil {
		o.Hostname = os.Hostname
	}
	if o.UID == nil {
		o.UID = os.Geteuid
	}
	if o.Abs == nil {
		o.Abs = filepath.Abs
	}
	return o
}

// Load reads, checks and types the config file at path. It refuses a file that
// others can write or that belongs to somebody else than root or the user. The
// error is Errors for a file that could be read and is wrong.
func Load(path string, opts Options) (*Config, error) {
	opts = opts.withDefaults()
	f, err := readFile(opts, path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("read config: %w; give --config FILE for another one", err)
	}
	if problem := f.refuse(opts.UID()); problem != nil {
		return nil, Errors{{Position{File: path}, "", problem.problem, problem.hint}}
	}
	return parse(path, f, opts)
}

// Parse checks and types a config that was read already; who owns it is not
// asked. file is its name in messages, and relative paths in it count from
// that file's folder. The error is Errors.
func Parse(file string, data []byte, opts Options) (*Config, error) {
	return parse(file, content{data: data}, opts.withDefaults())
}

func parse(file string, f content, opts Options) (*Config, error) {
	l := &log{file: file}
	b := &builder{log: l, opts: opts, open: f.open()}
	if root := l.readTree(f.data); root != nil {
		l.fit(root, schema)
		b.build(root)
	}
	l.sort()
	if len(l.errors) > 0 {
		return nil, l.errors
	}
	b.cfg.Warnings = l.warnings
	return b.cfg, nil
}

// content is a file that was read, and who may do what with it.
type content struct {
	data  []byte
	mode  fs.FileMode
	owner int
	known bool // mode and owner were asked
}

// readFile reads a file of at most limit bytes. Mode and owner are those of the
// very file that was read, whatever the path leads to a moment later.
func readFile(opts Options, path string, limit int64) (c content, err error) {
	file, err := opts.Open(path)
	if err != nil {
		return content{}, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return content{}, err
	}
	c.data, err = io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(c.data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		c.mode, c.owner, c.known = info.Mode(), int(stat.Uid), true
	}
	return c, err
}

// refuse says what is wrong with the owner or the mode of a config: whoever can
// write it can make sidestep write whatever the provider's token allows.
func (c content) refuse(uid int) *fault {
	writable := c.mode.Perm() & 0o022
	switch {
	case !c.known:
		return nil
	case c.owner != 0 && c.owner != uid:
		return faultf("the file belongs to user id %d, neither root nor you (%d)", c.owner, uid).advise("chown it to root or to yourself")
	case writable != 0:
		return faultf("others can write the file (mode %04o)", c.mode.Perm()).advise("chmod go-w it")
	}
	return nil
}

// open reports whether others can read the file.
func (c content) open() bool { return c.known && c.mode.Perm()&0o004 != 0 }

// hostname is the default of node.name.
func (b *builder) hostname() string {
	name, err := b.opts.Hostname()
	_, f := hostWord().parse(name)
	if err != nil || f != nil {
		b.fail(Position{File: b.file}, "node.name", fmt.Sprintf("the host name %s cannot be the node's name", quote(name)), "give node: {name: …}")
		return ""
	}
	return name
}
