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
// A Notifier collects events until a moment is quiet and makes one message of them,
// however many targets they are about. It keeps outages until all of them is up
// again, so that the way up can say how long it was down and what was written
// meanwhile; and what waits for a person until that has ended; and knows of each piece of news whether it was said, or left to another
// node. Messages wait in a queue for each receiver, bounded in number and age, and
// what is dropped is counted and said. Telling it something takes no longer than a
// lock that is never held while anybody is waited for; Run does the rest, and blocks.
// Its State survives a restart, so that nothing is said twice and a way up is never
// left out. A kill in the moment between a delivery and the next save repeats one
// message: to say it twice is better than never.
//
// A Ping is a dead man's switch. Whoever calls Send vouches that all is well.
//
// The senders are our own, a page each, and no library: what there is sends without
// a context, so that a hanging receiver could not be given up, has no signature for
// DingTalk, and takes no Retry-After.
package notify
