package route53

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi"
)

// codeBatch is the refusal of a batch: of one that deletes what is not so,
// creates what is there, or is not valid.
const codeBatch = "InvalidChangeBatch"

// meaning is what one error code of the API says.
type meaning struct {
	class provider.Class
	after time.Duration
	hint  string
}

const (
	hintUnknownKey = "see whether the access key was replaced or deleted; then: sidestep validate --online"
	hintEnded      = "the session's credentials have ended: get new ones, or use role_arn, which renews its own; then: sidestep validate --online"
	hintThrottled  = "all programs of the AWS account share one rate; the call is made again"
	hintDenied     = "the policy of the credential needs route53:GetHostedZone, ListResourceRecordSets and ChangeResourceRecordSets on the hosted zone, " +
		"ListHostedZonesByName without hosted_zone_id, and GetChange; then: sidestep validate --online"
)

// meanings are by the codes of API_ChangeResourceRecordSets, CommonErrors of the
// API reference, and the page on throttling of the Developer Guide: its answers
// are HTTP 400.
var meanings = map[string]meaning{
	codeBatch:                     {class: provider.Conflict},
	"Throttling":                  {provider.Retryable, time.Second, hintThrottled},
	"ThrottlingException":         {provider.Retryable, time.Second, hintThrottled},
	"ThrottledException":          {provider.Retryable, time.Second, hintThrottled},
	"RequestThrottled":            {provider.Retryable, time.Second, hintThrottled},
	"RequestLimitExceeded":        {provider.Retryable, time.Second, hintThrottled},
	"TooManyRequestsException":    {provider.Retryable, time.Second, hintThrottled},
	"PriorRequestNotComplete":     {provider.Retryable, 2 * time.Second, "Route 53 makes one change of a zone at a time; the call is made again"},
	"AccessDenied":                {provider.Permanent, 0, hintDenied},
	"AccessDeniedException":       {provider.Permanent, 0, hintDenied},
	"NotAuthorizedException":      {provider.Permanent, 0, hintDenied},
	"OptInRequired":               {provider.Permanent, 0, "the AWS account may not use Route 53 yet: finish its registration"},
	"InvalidClientTokenId":        {provider.Permanent, 0, hintUnknownKey},
	"UnrecognizedClientException": {provider.Permanent, 0, hintUnknownKey},
	"InvalidAccessKeyId":          {provider.Permanent, 0, hintUnknownKey},
	"MissingAuthenticationToken":  {provider.Permanent, 0, hintUnknownKey},
	"ExpiredToken":                {provider.Permanent, 0, hintEnded},
	"ExpiredTokenException":       {provider.Permanent, 0, hintEnded},
	"SignatureDoesNotMatch":       {provider.Permanent, 0, "secret_access_key is not the one of this access key; then: sidestep validate --online"},
	"InvalidSignatureException":   {provider.Permanent, 0, "secret_access_key is not the one of this access key; then: sidestep validate --online"},
	"NoSuchHostedZone":            {provider.Permanent, 0, "see hosted_zone_id on the zone, and whether the credential is of the account that has it"},
	"InvalidInput":                {provider.Permanent, 0, ""},
}

// codeNone is that no credential could be had.
const codeNone = "no credentials"

// refusedKey are the codes that speak of the credential and not of what was asked.
var refusedKey = []string{
	codeNone, "AccessDenied", "AccessDeniedException", "NotAuthorizedException", "InvalidClientTokenId", "UnrecognizedClientException", "InvalidAccessKeyId",
	"MissingAuthenticationToken", "ExpiredToken", "ExpiredTokenException", "SignatureDoesNotMatch", "InvalidSignatureException",
}

// skewCodes are what a signature of a wrong time is refused with.
var skewCodes = []string{"SignatureDoesNotMatch", "InvalidSignatureException", "RequestTimeTooSkewed", "RequestExpired", "AuthFailure"}

// classify says what is known of a request that failed.
func (a *Adapter) classify(ctx context.Context, r request, x *exchange, err error) error {
	var api smithy.APIError
	named := errors.As(err, &api) && api.ErrorCode() != "UnknownError"
	switch {
	case x.began.IsZero():
		return a.unsigned(ctx, r, err)
	case x.reply == nil:
		return httpapi.Broken(r.op, r.write, &x.sent, cause(err))
	case named:
		return x.refusal(r, api)
	}
	if page := httpapi.Page(x.reply.Header, x.reply.Body); page != nil {
		return httpapi.Unreadable(r.op, r.write, x.reply.Status, page)
	}
	if x.reply.Status < 300 {
		return httpapi.Unreadable(r.op, r.write, x.reply.Status, cause(err))
	}
	return httpapi.Classify(r.op, r.write, x.reply)
}

// cause takes the SDK's own words from around an error: the op says it better.
func cause(err error) error {
	for {
		var wrapped interface{ Unwrap() error }
		switch err.(type) { //nolint:errorlint // one layer at a time is what is meant
		case *smithy.OperationError, *smithy.DeserializationError, *awshttp.ResponseError, *smithyhttp.ResponseError:
			wrapped, _ = err.(interface{ Unwrap() error })
		}
		if wrapped == nil || wrapped.Unwrap() == nil {
			return err
		}
		err = wrapped.Unwrap()
	}
}

// refusal is an answer of the API that names its error.
func (x *exchange) refusal(r request, api smithy.APIError) error {
	code := api.ErrorCode()
	e := httpapi.Classify(r.op, r.write, x.reply)
	e.Code, e.Err = code, errors.New(words(api))
	if skewed := x.skew(code, httpapi.Foreign(api.ErrorMessage())); skewed != nil {
		e.Class, e.After, e.Err = provider.Retryable, 30*time.Second, skewed
		e.Hint = "synchronise this host's clock (chronyc tracking, timedatectl); the key is fine"
		return e
	}
	m, known := meanings[code]
	if !known {
		return e
	}
	e.Class, e.Hint, e.After = m.class, m.hint, max(m.after, e.After)
	return e
}

// words is what the API says of its error; of a refused batch, line by line.
func words(api smithy.APIError) string {
	text := api.ErrorMessage()
	if batch, ok := api.(*types.InvalidChangeBatch); ok && len(batch.Messages) > 0 {
		text = strings.Join(batch.Messages, "; ")
	}
	return httpapi.Foreign(text)
}

// maxSkew is the difference of clocks that a second look at the wire could not
// explain. AWS takes signatures of five minutes.
const maxSkew = time.Minute

// skew says how far the clocks are apart, where that is what the refusal is
// about.
func (x *exchange) skew(code, message string) error {
	timed := strings.Contains(message, "Signature expired") || strings.Contains(message, "Signature not yet current") || strings.Contains(message, "too skewed")
	theirs, err := http.ParseTime(x.reply.Header.Get("Date"))
	if err != nil || !slices.Contains(skewCodes, code) {
		if timed {
			return fmt.Errorf("the clock here differs from that of AWS: %s", message)
		}
		return nil
	}
	apart, way := theirs.Sub(x.began).Round(time.Second), "behind it"
	if apart.Abs() < maxSkew && !timed {
		return nil
	}
	if apart < 0 {
		way = "ahead of it"
	}
	return fmt.Errorf("the clock here differs by about %d s from that of AWS, and is %s: %s", apart.Abs()/time.Second, way, message)
}

// unsigned is a request that was never handed to the network: the credential
// could not be had, or the time was up before.
func (a *Adapter) unsigned(ctx context.Context, r request, err error) error {
	e := &provider.Error{Class: provider.Permanent, Op: r.op, Code: codeNone, Err: cause(err), Hint: "give access_key_id and secret_access_key, a profile, or what the AWS SDK looks for on this host; then: sidestep validate --online"}
	if ctx.Err() != nil {
		return httpapi.Broken(r.op, r.write, new(httpapi.Sent), ctx.Err())
	}
	var api smithy.APIError
	var network net.Error
	switch {
	case errors.As(err, &api):
		m := meanings[api.ErrorCode()]
		e.Code, e.Err, e.After = api.ErrorCode(), fmt.Errorf("get the credential: %s", httpapi.Foreign(api.ErrorMessage())), m.after
		e.Class, e.Hint = m.class, "see role_arn on the zone, and whether the role trusts this credential; then: sidestep validate --online"
		if m.class == provider.Ambiguous { // not in the table: nothing of the zone was asked yet
			e.Class = provider.Retryable
		}
	case errors.As(err, &network):
		e.Class, e.Err, e.Hint = provider.Retryable, fmt.Errorf("get the credential: %w", cause(err)), "the service that gives the credential could not be reached"
	}
	return e
}
