package tencentcloud

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sidestep/pkg/provider"
)

// verdict is what an error code of the API means to a caller.
type verdict struct {
	class provider.Class
	open  bool // a write that was answered so may have happened
	after time.Duration
	full  bool // see provider.Error
	hint  string
}

const (
	hintKey    = "see that secret_id and secret_key are right, enabled and of this edition; then: sidestep validate --online"
	hintRights = "let the key's user list and edit the zone (policy QcloudDNSPodFullAccess, or one for this domain); then: sidestep validate --online"
	hintZone   = "see that the domain is in the account of this key, and that edition is right; then: sidestep validate --online"
	hintDomain = "look at the domain's status in the DNSPod console; nothing is written before it is normal"
	hintPlan   = "the domain's plan allows no more live values of this name and line: upgrade the plan, or let fewer be live"
	hintLimit  = "the domain's plan allows no more of this: upgrade the plan"
	hintRemark = "shorten the remark in the DNSPod console, so that the mark of a pause has room; sidestep plan says which, and by how much"
	hintTTL    = "the domain's plan does not keep so small a TTL; write a larger ttl (600 s suits every plan)"
)

// verdicts are by code, those of the common errors and of dnspod.
var verdicts = map[string]verdict{
	"AuthFailure.UnauthorizedOperation": {class: provider.Permanent, hint: hintRights},
	"AuthFailure.TokenFailure":          {class: provider.Permanent, hint: "session_token ended or belongs to another key; get new credentials"},
	"InvalidParameter.RequestIpLimited": {class: provider.Permanent, hint: "the account accepts calls from other addresses only; allow this host's"},

	"FailedOperation.DomainIsLocked": {class: provider.Permanent, hint: "the domain is locked: unlock it in the DNSPod console"},
	"FailedOperation.DomainIsSpam":   {class: provider.Permanent, hint: hintDomain},
	"FailedOperation.NotDomainOwner": {class: provider.Permanent, hint: hintZone},
	"FailedOperation.MustAddDefaultLineFirst": {
		class: provider.Permanent, hint: "the name needs a record on the default line before it can have one on another",
	},
	"InvalidParameter.DomainInvalid":                 {class: provider.Permanent, hint: hintZone},
	"InvalidParameter.DomainIsAliaser":               {class: provider.Permanent, hint: "the zone is an alias of another domain; steer that one"},
	"InvalidParameter.DomainNotAllowedModifyRecords": {class: provider.Permanent, hint: hintDomain},
	"InvalidParameterValue.DomainNotExists":          {class: provider.Permanent, hint: hintZone},
	"ResourceNotFound.NoDataOfDomain":                {class: provider.Permanent, hint: hintZone},
	"ResourceNotFound.NoDataOfRecord":                {class: provider.Retryable},

	"InvalidParameter.RecordIdInvalid":      {class: provider.Conflict, hint: "the record is gone; the zone is listed again"},
	"InvalidParameter.DomainRecordExist":    {class: provider.Conflict, hint: "an equal record is there; the zone is listed again"},
	"InvalidParameter.RecordLineInvalid":    {class: provider.Permanent, hint: "see which lines the domain's plan has, and correct variant"},
	"InvalidParameter.RemarkLengthExceeded": {class: provider.Permanent, hint: hintRemark},
	"InvalidParameter.RemarkTooLong":        {class: provider.Permanent, hint: hintRemark},

	"LimitExceeded.RecordTtlLimit":     {class: provider.Permanent, hint: hintTTL},
	"LimitExceeded.SubdomainRollLimit": {class: provider.Permanent, full: true, hint: hintPlan},
	"LimitExceeded.AAAACountLimit":     {class: provider.Permanent, full: true, hint: hintPlan},

	"FailedOperation.FrequencyLimit":          {class: provider.Retryable, after: 5 * time.Second},
	"FailedOperation.TemporaryError":          {class: provider.Retryable, after: 5 * time.Second},
	"InvalidParameter.OperationIsTooFrequent": {class: provider.Retryable, after: time.Minute},
	"InvalidParameter.Common":                 {class: provider.Retryable, after: 10 * time.Second},
	"InvalidParameter.OperateFailed":          {class: provider.Retryable, open: true},
	"FailedOperation.UnknowError":             {class: provider.Retryable, open: true},
	"FailedOperation":                         {class: provider.Retryable, open: true},
}

// families are by the first part of a code, for those that are not in verdicts.
var families = map[string]verdict{
	"AuthFailure":           {class: provider.Permanent, hint: hintKey},
	"UnauthorizedOperation": {class: provider.Permanent, hint: hintRights},
	"OperationDenied":       {class: provider.Permanent, hint: hintRights},
	"FailedOperation":       {class: provider.Permanent},
	"InvalidParameter":      {class: provider.Permanent},
	"InvalidParameterValue": {class: provider.Permanent},
	"MissingParameter":      {class: provider.Permanent},
	"UnknownParameter":      {class: provider.Permanent},
	"InvalidAction":         {class: provider.Permanent},
	"UnsupportedOperation":  {class: provider.Permanent},
	"ResourceNotFound":      {class: provider.Permanent},
	"LimitExceeded":         {class: provider.Permanent, hint: hintLimit},
	"RequestLimitExceeded":  {class: provider.Retryable, after: time.Second, hint: "see who else uses this key"},
}

// refusal is the error of an answer that has one.
func (a *Adapter) refusal(q request, said *answer, header http.Header, signed time.Time) *provider.Error {
	code := said.Error.Code
	e := &provider.Error{Op: q.op, Code: code, Err: errors.New(a.message(said))}
	if code == "AuthFailure.SignatureExpire" {
		return expired(e, header, signed)
	}
	family, _, _ := strings.Cut(code, ".")
	v, known := verdicts[code]
	if !known {
		v, known = families[family]
	}
	if !known { // of the API itself: InternalError, and what nobody has seen yet
		v = verdict{class: provider.Retryable, open: true}
	}
	e.Class, e.After, e.Full, e.Hint = v.class, v.after, v.full, v.hint
	if v.open && q.write {
		e.Class = provider.Ambiguous
	}
	return e
}

// message is the API's own text in one line, with what its support asks for.
func (a *Adapter) message(said *answer) string {
	return a.said(said.Error.Message) + " (RequestId " + a.said(said.RequestID) + ")"
}

// afterExpired is how long the API is left alone while the clocks differ:
// nothing that can be tried again mends a clock.
const afterExpired = 30 * time.Second

// expired explains the refusal of a signature for its time. It is looked at
// before anything else, so nothing happened, and a clock that was set makes the
// same call work.
func expired(e *provider.Error, header http.Header, signed time.Time) *provider.Error {
	e.Class, e.After = provider.Retryable, afterExpired
	e.Hint = "synchronise the clock of this host (chronyc tracking, timedatectl); the key is fine"
	theirs, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		e.Err = fmt.Errorf("the clock here differs by more than %v from the API's: %w", signatureLife, e.Err)
		return e
	}
	apart, way := theirs.Sub(signed).Round(time.Second), "behind it"
	if apart < 0 {
		way = "ahead of it"
	}
	e.Err = fmt.Errorf("the clock here differs by about %d s from the API's, and is %s: %w", apart.Abs()/time.Second, way, e.Err)
	return e
}

// code is the API's own code of an error; empty when it has none.
func code(err error) string {
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return e.Code
	}
	return ""
}
