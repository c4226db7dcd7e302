package route53test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const namespace = "https://route53.amazonaws.com/doc/2013-04-01/"

type changeRequest struct {
	XMLName     xml.Name `xml:"ChangeResourceRecordSetsRequest"`
	ChangeBatch struct {
		Comment string
		Changes struct{ Change []change }
	}
}

// elements are those that a request may have.
const elements = " ChangeResourceRecordSetsRequest ChangeBatch Comment Changes Change Action ResourceRecordSet Name Type SetIdentifier Weight Region " +
	"GeoLocation ContinentCode CountryCode SubdivisionCode Failover MultiValueAnswer TTL ResourceRecords ResourceRecord Value AliasTarget " +
	"HostedZoneId DNSName EvaluateTargetHealth HealthCheckId TrafficPolicyInstanceId CidrRoutingConfig CollectionId LocationName " +
	"GeoProximityLocation AWSRegion LocalZoneGroup Coordinates Latitude Longitude Bias "

// decode reads a request strictly: an element that is not in the schema, or not
// in its namespace, is an error.
func decode(body []byte) (*changeRequest, error) {
	tokens := xml.NewDecoder(bytes.NewReader(body))
	for {
		token, err := tokens.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if e, ok := token.(xml.StartElement); ok && (e.Name.Space != namespace || !strings.Contains(elements, " "+e.Name.Local+" ")) {
			return nil, fmt.Errorf("unexpected element %q of namespace %q", e.Name.Local, e.Name.Space)
		}
	}
	var r changeRequest
	if err := xml.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	if len(r.ChangeBatch.Changes.Change) == 0 {
		return nil, errors.New("no Change")
	}
	return &r, nil
}

// The answers.
type (
	changeInfo struct {
		ID          string `xml:"Id"`
		Status      string
		SubmittedAt string
	}
	changeAnswer struct {
		XMLName    xml.Name
		ChangeInfo changeInfo
	}
	listAnswer struct {
		XMLName              xml.Name `xml:"https://route53.amazonaws.com/doc/2013-04-01/ ListResourceRecordSetsResponse"`
		ResourceRecordSets   struct{ ResourceRecordSet []set }
		IsTruncated          bool
		NextRecordName       string `xml:",omitempty"`
		NextRecordType       string `xml:",omitempty"`
		NextRecordIdentifier string `xml:",omitempty"`
		MaxItems             int
	}
	zoneConfig struct{ PrivateZone bool }
	hostedZone struct {
		ID                     string `xml:"Id"`
		Name                   string
		CallerReference        string
		Config                 zoneConfig
		ResourceRecordSetCount int
	}
	vpc        struct{ VPCRegion, VPCId string }
	zoneAnswer struct {
		XMLName       xml.Name `xml:"https://route53.amazonaws.com/doc/2013-04-01/ GetHostedZoneResponse"`
		HostedZone    hostedZone
		DelegationSet *struct{ NameServers struct{ NameServer []string } } `xml:",omitempty"`
		VPCs          *struct{ VPC []vpc }                                 `xml:",omitempty"`
	}
	zonesAnswer struct {
		XMLName          xml.Name `xml:"https://route53.amazonaws.com/doc/2013-04-01/ ListHostedZonesByNameResponse"`
		HostedZones      struct{ HostedZone []hostedZone }
		DNSName          string `xml:",omitempty"`
		IsTruncated      bool
		NextDNSName      string `xml:",omitempty"`
		NextHostedZoneID string `xml:"NextHostedZoneId,omitempty"`
		MaxItems         int
	}
)

// refusal is an error of the API.
type refusal struct {
	status  int
	code    string
	message string
}

// body is the answer that tells of it.
func (r refusal) body() string {
	var message bytes.Buffer
	_ = xml.EscapeText(&message, []byte(r.message)) // a buffer takes everything
	kind := "Sender"
	if r.status >= 500 {
		kind = "Receiver"
	}
	return fmt.Sprintf(xml.Header+`<ErrorResponse xmlns="%s"><Error><Type>%s</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>%s</RequestId></ErrorResponse>`,
		namespace, kind, r.code, message.String(), requestID)
}

const requestID = "11111111-2222-3333-4444-555555555555"

// batchBody is the other form in which a refused batch is told of, with one
// message for each problem.
func batchBody(messages []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, xml.Header+`<InvalidChangeBatch xmlns="%s"><Messages>`, namespace)
	for _, m := range messages {
		var text bytes.Buffer
		_ = xml.EscapeText(&text, []byte(m)) // a buffer takes everything
		fmt.Fprintf(&b, "<Message>%s</Message>", text.String())
	}
	fmt.Fprintf(&b, "</Messages><RequestId>%s</RequestId></InvalidChangeBatch>", requestID)
	return b.String()
}

func (f *Fake) write(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/xml")
	w.Header().Set("X-Amzn-Requestid", requestID)
	w.Header().Set("Date", f.now().UTC().Format(http.TimeFormat))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func (f *Fake) answer(w http.ResponseWriter, v any) {
	data, err := xml.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotImplemented)
		return
	}
	f.write(w, http.StatusOK, xml.Header+string(data))
}
