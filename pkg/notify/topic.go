package notify

import "slices"

// Topic is what a message, or a part of one, is about.
type Topic string

// The topics, in the order in which the parts of a message come.
const (
	Down        Topic = "down"         // targets went down
	Up          Topic = "up"           // they came up again
	Write       Topic = "write"        // a zone was written, could not be, or can be again
	Guard       Topic = "guard"        // a guard stopped something, or something waits for a person's yes
	Leader      Topic = "leader"       // a node leads, no longer does, or none does
	OverrideOld Topic = "override-old" // an operator's word is still there
)

// Topics lists all of them in the order of the constants.
var Topics = []Topic{Down, Up, Write, Guard, Leader, OverrideOld}

// Test is the topic of the message that only a person asks for. Everybody gets it.
const Test Topic = "test"

// wants reports whether a receiver with these topics is told of one; none at all
// stand for every topic.
func wants(topics []Topic, t Topic) bool {
	return len(topics) == 0 || t == Test || slices.Contains(topics, t)
}
