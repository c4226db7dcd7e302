package route53

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi"
	"sidestep/pkg/record"
)

const (
	// late is how long after we gave a call up Route 53 may still carry it out:
	// an assumption. What bounds it for sure is the age at which a signature is
	// refused, five minutes; safety rests on the stamp and on neither.
	late = time.Minute

	// callDeadline bounds one write, and one request of a list.
	callDeadline = 30 * time.Second

	// listDeadline bounds one list with all of its pages: at eight pages of 300 a
	// second, a zone of 700,000 sets.
	listDeadline = 5 * time.Minute

	// publish is how long a change usually takes to all name servers
	// (API_GetChange).
	publish = time.Minute

	// pollEvery is how often Confirm asks.
	pollEvery = 5 * time.Second

	// defaultRegion signs requests of the one global API.
	defaultRegion = "us-east-1"
)

// Adapter edits one hosted zone. Make one with New. List may be called by
// several goroutines at once.
type Adapter struct {
	zone     record.Name
	given    string // the config's hosted zone id
	settings provider.Settings
	endpoint *string // nil is the vendor's
	agent    string
	late     time.Duration
	lag      time.Duration
	poll     time.Duration
	limiter  *provider.Limiter
	log      *slog.Logger
	unfenced atomic.Bool // Prove found a server that does not compare

	mu     sync.Mutex
	way    *way     // nil until the shared files could be read, and once a key was refused
	id     string   // the hosted zone's, once it is known
	change string   // the last accepted change
	done   accepted // what it did
}

// way is how the API is reached: with which credential, over which connections. It
// is never changed; another one takes its place.
type way struct {
	api  *sdk.Client
	http *http.Client
}

// accepted is the last write of a record set that was accepted.
type accepted struct {
	nonce   string
	changes []types.Change
}

// New makes the adapter of one zone. Its options are profile, region, role_arn,
// hosted_zone_id and endpoint; its secrets access_key_id, secret_access_key and
// session_token. Without these the credential is looked for where every AWS
// program does: the environment, the shared files, the web identity, the
// container, the instance. It opens no connection. Shared files that cannot be
// used are not its error but that of Check and of each call, which reads them
// again: they are not the config's, and may be mended while a daemon runs. They are
// also read again after a key was refused, and by Renew.
func New(s provider.Settings) (provider.Adapter, error) {
	a, err := build(s)
	if err != nil {
		return nil, err
	}
	return a, nil
}

func build(s provider.Settings) (*Adapter, error) {
	op := fmt.Sprintf("configure route53 for zone %s", s.Zone)
	given, err := hostedZoneID(s.Options["hosted_zone_id"])
	if err != nil {
		return nil, provider.Failf(provider.Permanent, op, "", "hosted_zone_id: %w", err)
	}
	endpoint, err := endpointOf(s)
	if err != nil {
		return nil, provider.Failf(provider.Permanent, op, "", "%w", err)
	}
	if err := keysFit(s); err != nil {
		return nil, provider.Failf(provider.Permanent, op, "", "%w", err)
	}
	a := &Adapter{
		zone: s.Zone, given: given, id: given, settings: s, endpoint: endpoint, agent: s.Client,
		late: late, lag: s.Lag, poll: pollEvery, limiter: s.Limiter, log: s.Logger,
	}
	if s.Late > 0 {
		a.late = s.Late
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if a.agent == "" {
		a.agent = "sidestep"
	}
	return a, nil
}

// Check says what keeps the credential from being looked for.
func (a *Adapter) Check() error {
	_, err := a.reach()
	return err
}

// reach gives the way in use, made anew where there is none.
func (a *Adapter) reach() (*way, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.way == nil {
		found, err := a.find()
		if err != nil {
			return nil, err
		}
		a.way = found
	}
	return a.way, nil
}

// find looks for the credential.
func (a *Adapter) find() (*way, error) {
	client := httpapi.HTTPClient()
	conf, err := load(a.settings, client)
	if err != nil {
		return nil, unloadable(fmt.Sprintf("look for the credential of zone %s", a.zone), a.settings, err)
	}
	return &way{http: client, api: sdk.NewFromConfig(conf, func(o *sdk.Options) {
		o.BaseEndpoint = cmpEndpoint(a.endpoint, o.BaseEndpoint)
		o.RetryMaxAttempts = 1
	})}, nil
}

// Renew reads the shared files and the environment again, where the credential may
// be from there.
func (a *Adapter) Renew() error {
	if !a.outside() {
		return nil
	}
	found, err := a.find()
	if err != nil {
		return err
	}
	a.replace(found)
	return nil
}

// outside reports whether the credential is looked for outside the config.
func (a *Adapter) outside() bool { return a.settings.Secrets["access_key_id"].Empty() }

func (a *Adapter) replace(next *way) {
	a.mu.Lock()
	before := a.way
	a.way = next
	a.mu.Unlock()
	if before != nil {
		before.http.CloseIdleConnections()
	}
}

// lookAgain lets the next call look for the credential again, after this one was
// refused: it may have been replaced in the shared files.
func (a *Adapter) lookAgain(used *way, err error) {
	var e *provider.Error
	if a.outside() && errors.As(err, &e) && slices.Contains(refusedKey, e.Code) {
		a.mu.Lock()
		if a.way == used {
			a.way = nil
		}
		a.mu.Unlock()
		used.http.CloseIdleConnections()
	}
}

func cmpEndpoint(given, otherwise *string) *string {
	if given != nil {
		return given
	}
	return otherwise
}

func endpointOf(s provider.Settings) (*string, error) {
	text := s.Options["endpoint"]
	if text == "" {
		return nil, nil
	}
	base, err := httpapi.ParseEndpoint(text, s.Insecure)
	if err != nil {
		return nil, err
	}
	return aws.String(base.String()), nil
}

var hostedZone = regexp.MustCompile(`^[A-Z0-9]{1,32}$`)

func hostedZoneID(text string) (string, error) {
	id := strings.TrimPrefix(text, "/hostedzone/")
	if id != "" && !hostedZone.MatchString(id) {
		return "", fmt.Errorf("%q: expected an id like Z0123456789ABCDEFGHIJ", text)
	}
	return id, nil
}

// keysFit refuses keys of the config that do not go together.
func keysFit(s provider.Settings) error {
	key, secret, token := s.Secrets["access_key_id"], s.Secrets["secret_access_key"], s.Secrets["session_token"]
	switch {
	case key.Empty() != secret.Empty():
		return errors.New("access_key_id and secret_access_key: expected both or neither")
	case key.Empty() && !token.Empty():
		return errors.New("session_token: expected access_key_id and secret_access_key beside it")
	case !key.Empty() && s.Options["profile"] != "":
		return errors.New("profile: expected no profile beside access_key_id")
	}
	return nil
}

// load reads the shared files and decides where the credential comes from; what
// it needs the network for (a role, an instance's metadata) is asked at the first
// call. With
// keys in the config nothing else is read: a broken file or a profile of the
// environment that is not there must not stop a zone that needs neither.
//
// What the SDK would say on stderr by itself is left out: its errors say the same.
func load(s provider.Settings, client *http.Client) (aws.Config, error) {
	key, secret, token := s.Secrets["access_key_id"], s.Secrets["secret_access_key"], s.Secrets["session_token"]
	var conf aws.Config
	if !key.Empty() {
		conf = aws.Config{Credentials: credentials.NewStaticCredentialsProvider(key.Reveal(), secret.Reveal(), token.Reveal()), HTTPClient: client, Logger: logging.Nop{}}
	} else {
		options := []func(*config.LoadOptions) error{config.WithLogger(logging.Nop{})}
		if profile := s.Options["profile"]; profile != "" {
			options = append(options, config.WithSharedConfigProfile(profile))
		}
		var err error
		if conf, err = config.LoadDefaultConfig(context.Background(), options...); err != nil {
			return conf, err
		}
		trust(client, conf.HTTPClient)
	}
	if region := s.Options["region"]; region != "" || conf.Region == "" {
		conf.Region = region
	}
	if conf.Region == "" {
		conf.Region = defaultRegion
	}
	if role := s.Options["role_arn"]; role != "" {
		conf.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(conf), role, func(o *stscreds.AssumeRoleOptions) {
			o.RoleSessionName = "sidestep"
		}))
	}
	return conf, nil
}

// trust gives our client the certificates that the SDK read for its own
// (AWS_CA_BUNDLE, ca_bundle of a profile).
func trust(ours *http.Client, theirs aws.HTTPClient) {
	built, ok := theirs.(*awshttp.BuildableClient)
	transport, plain := ours.Transport.(*http.Transport)
	if !ok || !plain {
		return
	}
	if c := built.GetTransport().TLSClientConfig; c != nil && c.RootCAs != nil {
		transport.TLSClientConfig.RootCAs = c.RootCAs
	}
}

// unloadable is a credential that cannot be looked for.
func unloadable(op string, s provider.Settings, err error) error {
	e := provider.Failf(provider.Permanent, op, "", "%w", err)
	var missing config.SharedConfigProfileNotExistError
	switch {
	case errors.As(err, &missing):
		e.Hint = fmt.Sprintf("there is no profile %q in the shared AWS files: correct profile on the zone, or AWS_PROFILE in the environment of the service; then: sidestep validate", missing.Profile)
	case s.Secrets["access_key_id"].Empty():
		e.Hint = "see the shared AWS files (~/.aws/config, ~/.aws/credentials) and the AWS_ variables in the environment of the service; then: sidestep validate"
	}
	return e
}
