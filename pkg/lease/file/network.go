package file

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// network lists the file systems on which a lock may be seen by one host only,
// by their magic number (statfs(2), linux/magic.h and the projects' sources).
// FUSE is among them because what stands behind it cannot be told: sshfs,
// GlusterFS and object stores look like a local disk there.
var network = map[uint32]string{
	0x6969:     "NFS",
	0x517b:     "SMB",
	0xff534d42: "CIFS",
	0xfe534d42: "SMB2",
	0x65735546: "FUSE",
	0x01021997: "9p",
	0x00c36400: "Ceph",
	0x0bd00bd0: "Lustre",
	0x01161970: "GFS2",
	0x7461636f: "OCFS2",
	0x47504653: "GPFS",
	0x19830326: "BeeGFS",
	0x20030528: "OrangeFS",
	0xaad7aaea: "PanFS",
	0x5346414f: "AFS",
	0x6b414653: "kAFS",
	0x73757245: "Coda",
	0x0000564c: "NCP",
	0xbeefdead: "StorNext",
	0x61636673: "ACFS",
	0x786f4256: "VirtualBox shared folders",
	0xbacbacbc: "VMware shared folders",
	0x7c7c6673: "Parallels shared folders",
}

// refuseNetwork says no to a directory whose locks other hosts may not see.
func refuseNetwork(dir string, magic uint32) error {
	name, found := network[magic]
	if !found {
		return nil
	}
	return fmt.Errorf("lock in %s: it is on a network file system (%s), where two hosts can both get the lock; "+
		"put state.dir on a local disk, or use leader: {lock: etcd} or {lock: zone}", dir, name)
}

// magicOf is the magic number of the file system that a path is on.
func magicOf(path string) (uint32, error) {
	var fs unix.Statfs_t
	for {
		err := unix.Statfs(path, &fs)
		if err == nil {
			return uint32(fs.Type), nil //nolint:gosec // the number has 32 bits, in a field that is wider on some machines
		}
		if err != unix.EINTR {
			return 0, fmt.Errorf("look at the file system of %s: %w", path, err)
		}
	}
}
