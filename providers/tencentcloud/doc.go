// Package tencentcloud edits a zone at Tencent Cloud DNSPod, of either edition,
// through the vendor's API 3.0 (dnspod, version 2021-03-23).
//
// The API changes one record a request, compares nothing and has no
// transaction, so this adapter is neither atomic nor fenced. What keeps a zone
// whole here is the order of the requests:
//
//   - A pause is the record's own status (ModifyRecordStatus, by id), a resume
//     likewise. ModifyRecord is never used for either: it would overwrite what
//     somebody edited meanwhile, and resumes a record when Status is left out.
//   - Just before a pause each survivor is read once more (DescribeRecord). What
//     happens between that and the pause is not seen by the API.
//   - A value is created once, since a new record may be missing from lists for
//     half a minute; only a TTL that the domain's plan refused is asked for again.
//   - TTLs, weights and the swap of a CNAME are written with ModifyRecord and all
//     attributes as they were read just before. A swap parks the old value in a
//     TXT first, and writes the new one when a list shows the copy.
//   - A list is whole when its pages follow each other and have as many records
//     as the API counts. It is made anew when they do not, and an empty one is an
//     error, because each domain has name servers.
//
// # The mark
//
// What sidestep paused says so in its remark, behind the user's own words:
// "web server 1 [sidestep 2026-11-30T13:05:01Z]". A paused record without a mark
// was paused by a person and is listed as held. The mark is written before the
// status is changed, in the same call, and taken off after the record was
// resumed. Either may be cut off between its two requests, and leaves a mark on a
// live record. So that this never makes somebody else's pause look like ours, a
// mark is good for five minutes: an older one is renewed before a pause. A live
// record with a mark after which no pause of any node can arrive any more is
// remembered, and when it is found paused with the same mark it is held.
// Release takes such marks off, and so does the next pause and resume.
//
// What remains possible: a person pauses a record in the minutes in which it has
// a mark that is not used (between the two requests of a pause, or before a
// late one arrives), or while no sidestep lists the zone; that pause then looks
// like ours. A remark that is edited between its reading and the writing of the
// mark is overwritten.
//
// A remark has 200 characters at most. A list tells of live records in whose remark
// no mark has room, so that plan and validate --online can say so before one of them
// has to be paused.
//
// A request that takes a mark off and has no answer may still be carried out, within
// the life of its signature. A record is paused again all the same: the request
// carries a remark and no status, so it can empty no name and lose no value, whenever
// it comes. The worst that it does is to take the mark off the new pause, which then
// looks like somebody else's. The process that made that pause knows better, for as
// long as it runs and has this key, and resumes the record as any other. Only one
// that was started since, or on another node, holds the record until a person
// approves it; status says so. A value that is down and stays in the answer for the
// five minutes would be worse, and more often.
//
// # Lateness
//
// The API refuses a request that was signed more than five minutes ago or ahead
// (AuthFailure.SignatureExpire), which bounds how late anything can be carried
// out, also for a process that was stopped; a synchronised clock is a condition.
// The limits of a plan on live values of one name and line are met when a value
// is resumed or created: they are reported as such, so that a value which has to
// go anyway makes room, and never the last live one.
//
// # Which domain
//
// Several accounts can have a domain of one name. A list says which it is of by the
// id that DescribeDomain tells, so that a new credential that finds another is
// refused. A key that may list and edit and not describe is enough, but takes the
// place of one that may describe only after a restart.
//
// # Lines
//
// A set of a line other than the default one has the line as its variant. Lines
// have an id, which is the same in both editions, and a name; the config may use
// either, and requests carry the id.
//
// # Tests
//
// tencentcloudtest is the API on loopback. A domain of a real account, made for
// the purpose, is written to by
//
//	SIDESTEP_TENCENTCLOUD_ZONE=example.org SIDESTEP_TENCENTCLOUD_EDITION=china \
//	TENCENTCLOUD_SECRET_ID=… TENCENTCLOUD_SECRET_KEY=… \
//	go test -tags live -run Live -v ./providers/tencentcloud
//
// It uses names that begin with sidestep-live and deletes them at its end.
//
// The four interfaces of libdns are implemented too, for other programs;
// sidestep's own writes never go through them. The contract is in pkg/provider,
// the only caller of the writes is pkg/reconcile.
package tencentcloud
