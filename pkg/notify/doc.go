// Package notify tells people: in a chat room, by mail, or through a webhook.
//
// A Receiver is one place where messages go, made from a URL whose scheme says the
// kind, and sends one Message at a time. The URL is a secret: a Receiver prints as
// its kind and host, and no error and no answer shows more.
//
// What comes from others, names, causes and what servers answered, is made one line
// of printable text before anything else (Clean), and each kind takes from it what
// would mean something there: Slack's three characters are escaped, chat rooms call
// nobody and link nothing, a mail's subject is encoded, JSON is escaped.
//
// The senders are our own, a page each, and no library: what there is sends without
// a context, so that a hanging receiver could not be given up, has no signature for
// DingTalk, and takes no Retry-After.
package notify
