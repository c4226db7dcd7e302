package config

// Etcd is the etcd that several nodes share; without Endpoints there is none.
type Etcd struct {
	Endpoints []string // URLs of the members, in the order of the file
	Prefix    string   // in front of every key
}

func (b *builder) etcd(root *item) {
	it := root.at("etcd")
	if lock := root.at("leader", "lock"); !root.has("etcd") {
		if b.cfg.Leader.Lock == LockEtcd {
			b.fail(lock.pos, lock.path(), "lock: etcd needs an etcd", "add etcd: {endpoints: [URL]}")
		}
		return
	}
	endpoints := it.at("endpoints")
	if endpoints.shape == list && len(endpoints.items) == 0 {
		b.fail(endpoints.pos, endpoints.path(), "expected at least one URL, got an empty list", "")
	}
	for _, at := range endpoints.items {
		b.cfg.Etcd.Endpoints = append(b.cfg.Etcd.Endpoints, get[string](at))
	}
	b.cfg.Etcd.Prefix = get[string](it.at("prefix"))
}

func showEtcd(e Etcd) any {
	if len(e.Endpoints) == 0 {
		return nil
	}
	return shown{{"endpoints", e.Endpoints}, {"prefix", e.Prefix}}
}
