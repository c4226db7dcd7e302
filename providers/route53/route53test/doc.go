// Package route53test is a fake of the Route 53 API on loopback, for tests: the
// part that sidestep uses, as strict as the vendor documents it, over HTTP and
// REST-XML.
//
// A ChangeBatch is applied whole or not at all. A DELETE has to repeat values,
// TTL and every attribute of the set; a CREATE fails where the set is. The rules
// for sets of one name (a CNAME stands alone, no plain set beside those with
// identifiers, one routing policy for all) are held against what the whole batch
// would leave. The words of its refusals are those that AWS is reported to use.
//
// It was written from the API reference and the Developer Guide, and from no
// account. What these leave open, and what the fake takes for granted: that a
// DELETE and a CREATE of one set may stand in one batch; that a list shows a
// change at once, while it is PENDING; that ResourceRecordSetCount does too. The
// AWS SDK drives it in this package's tests, which shows that its XML is read as
// meant, and no more than that.
//
// Requests have to be signed with Signature Version 4 in form, by an access key
// that the fake knows, for the service route53, at a time within five minutes of
// the fake's clock. The signature itself is not computed. The one call of STS
// that a role takes is answered as well.
//
// The adapter that it is for is the package above.
package route53test
