package config

// notBuilt names every key of the schema whose feature this version does not
// have, by its path in the schema, with the feature in words. "KEY=VALUE"
// stands for one value of a key. A key that is set to what switches its feature
// off is accepted. Whoever builds a feature removes its line here, and nowhere
// else.
var notBuilt = map[string]string{}

func (l *log) refuseNotBuilt(it *item, pattern string) {
	if _, isOff := it.value.(off); isOff {
		return
	}
	feature, missing := notBuilt[pattern]
	hint := "remove the key"
	if !missing && it.shape == scalar {
		feature, missing = notBuilt[pattern+"="+it.text]
		hint = "choose another value"
	}
	if missing {
		l.fail(it.pos, it.path(), "not built yet: "+feature, hint)
	}
}
