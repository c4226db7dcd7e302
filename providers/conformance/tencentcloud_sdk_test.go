package conformance

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	dnspod "github.com/go-acme/tencentclouddnspod/v20210323"
	"github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common"
	sdkerrors "github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common/errors"
	"github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common/profile"

	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/providers/tencentcloud/tencentcloudtest"
)

// vendorClient is the vendor's own client, pointed at the fake.
func vendorClient(t *testing.T, f *tencentcloudtest.Fake, key string) *dnspod.Client {
	t.Helper()
	p := profile.NewClientProfile()
	p.HttpProfile.Endpoint, p.HttpProfile.Scheme = strings.TrimPrefix(f.Server.URL, "http://"), "HTTP"
	client, err := dnspod.NewClient(common.NewCredential(tencentcloudtest.SecretID, key), "", p)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func created(t *testing.T, c *dnspod.Client, sub, value string) *uint64 {
	t.Helper()
	r := dnspod.NewCreateRecordRequest()
	r.Domain, r.SubDomain, r.RecordType, r.RecordLine, r.RecordLineId = new("example.com"), new(sub), new("A"), new("默认"), new("0")
	r.Value, r.TTL, r.Weight, r.Remark = new(value), new(uint64(600)), new(uint64(7)), new("web")
	reply, err := dnspod.CreateRecord(c, r)
	if err != nil {
		t.Fatal(err)
	}
	return reply.Response.RecordId
}

// TestTencentCloudVendorClient lets the vendor's client do, at the fake, all that
// the adapter does, and reads back what it did.
func TestTencentCloudVendorClient(t *testing.T) {
	f := tencentcloudtest.Start(t, tencentcloudtest.Options{})
	c := vendorClient(t, f, tencentcloudtest.SecretKey)
	domain := dnspod.NewDescribeDomainRequest()
	domain.Domain = new("example.com")
	described, err := dnspod.DescribeDomain(c, domain)
	if err != nil || *described.Response.DomainInfo.Grade != "DP_PLUS" || *described.Response.DomainInfo.Status != "ENABLE" {
		t.Fatalf("%v, %v", described, err)
	}
	lines := dnspod.NewDescribeRecordLineListRequest()
	lines.Domain, lines.DomainGrade = new("example.com"), described.Response.DomainInfo.Grade
	if reply, err := dnspod.DescribeRecordLineList(c, lines); err != nil || *reply.Response.LineList[0].LineId != "0" {
		t.Errorf("lines: %v, %v", reply, err)
	}
	id := created(t, c, "www", "192.0.2.1")
	status := dnspod.NewModifyRecordStatusRequest()
	status.Domain, status.RecordId, status.Status = new("example.com"), id, new("DISABLE")
	if _, err := dnspod.ModifyRecordStatus(c, status); err != nil {
		t.Fatal(err)
	}
	remark := dnspod.NewModifyRecordRemarkRequest()
	remark.Domain, remark.RecordId, remark.Remark = new("example.com"), id, new("web [sidestep 2026-11-30T13:05:01Z]")
	if _, err := dnspod.ModifyRecordRemark(c, remark); err != nil {
		t.Fatal(err)
	}
	one := dnspod.NewDescribeRecordRequest()
	one.Domain, one.RecordId = new("example.com"), id
	got, err := dnspod.DescribeRecord(c, one)
	if err != nil {
		t.Fatal(err)
	}
	info := got.Response.RecordInfo
	if *info.Enabled != 0 || *info.Remark != "web [sidestep 2026-11-30T13:05:01Z]" || *info.Weight != 7 || *info.TTL != 600 || *info.RecordLineId != "0" || *info.SubDomain != "www" {
		t.Errorf("the record is %+v", info)
	}
	listed := dnspod.NewDescribeRecordListRequest()
	listed.Domain, listed.Limit = new("example.com"), new(uint64(3000))
	all, err := dnspod.DescribeRecordList(c, listed)
	if err != nil || *all.Response.RecordCountInfo.TotalCount != 3 || len(all.Response.RecordList) != 3 {
		t.Fatalf("list: %v, %v", all, err)
	}
	if last := all.Response.RecordList[2]; *last.Status != "DISABLE" || *last.Name != "www" || *last.LineId != "0" || *last.Weight != 7 {
		t.Errorf("listed as %+v", last)
	}
	modifyForgets(t, c, f, id)
	gone := dnspod.NewDeleteRecordRequest()
	gone.Domain, gone.RecordId = new("example.com"), id
	if _, err := dnspod.DeleteRecord(c, gone); err != nil || len(f.Records()) != 2 {
		t.Errorf("delete: %v, %v", err, f.Records())
	}
}

// modifyForgets: ModifyRecord without Status resumes, and without Weight drops
// the weight, as the vendor's reference says.
func modifyForgets(t *testing.T, c *dnspod.Client, f *tencentcloudtest.Fake, id *uint64) {
	t.Helper()
	r := dnspod.NewModifyRecordRequest()
	r.Domain, r.RecordId, r.SubDomain, r.RecordType, r.RecordLine, r.Value = new("example.com"), id, new("www"), new("A"), new("默认"), new("192.0.2.2")
	if _, err := dnspod.ModifyRecord(c, r); err != nil {
		t.Fatal(err)
	}
	for _, r := range f.Records() {
		if r.ID == *id && (r.Paused || r.Weight != nil || r.Value != "192.0.2.2") {
			t.Errorf("after ModifyRecord without Status and Weight: %v", r)
		}
	}
}

// raise brings about each error that the fake has, by the vendor's client where
// its requests can be that wrong; what they cannot say is armed, and read by the
// client all the same.
var raise = map[string]func(*testing.T, *tencentcloudtest.Fake, *dnspod.Client) error{
	"AuthFailure.SignatureFailure": func(t *testing.T, f *tencentcloudtest.Fake, _ *dnspod.Client) error {
		return list(vendorClient(t, f, "another key"), nil)
	},
	"AuthFailure.SecretIdNotFound": func(t *testing.T, f *tencentcloudtest.Fake, _ *dnspod.Client) error {
		c := vendorClient(t, f, tencentcloudtest.SecretKey)
		c.WithSecretId("AKIDsomebodyelse", tencentcloudtest.SecretKey)
		return list(c, nil)
	},
	"AuthFailure.TokenFailure": func(_ *testing.T, _ *tencentcloudtest.Fake, c *dnspod.Client) error {
		c.WithCredential(common.NewTokenCredential(tencentcloudtest.SecretID, tencentcloudtest.SecretKey, "a token"))
		return list(c, nil)
	},
	"FailedOperation.DomainIsLocked": func(_ *testing.T, f *tencentcloudtest.Fake, c *dnspod.Client) error {
		f.Lock(true)
		return create(c, nil)
	},
	"FailedOperation.DomainIsSpam": func(_ *testing.T, f *tencentcloudtest.Fake, c *dnspod.Client) error {
		f.SetStatus("SPAM")
		return create(c, nil)
	},
	"FailedOperation": func(_ *testing.T, f *tencentcloudtest.Fake, c *dnspod.Client) error {
		r := dnspod.NewDeleteRecordRequest()
		r.Domain, r.RecordId = new("example.com"), new(f.Records()[0].ID)
		_, err := dnspod.DeleteRecord(c, r)
		return err
	},
	"InvalidParameter.DomainIdInvalid": func(_ *testing.T, _ *tencentcloudtest.Fake, c *dnspod.Client) error {
		return list(c, func(r *dnspod.DescribeRecordListRequest) { r.DomainId = new(uint64(7)) })
	},
	"InvalidParameter.DomainRecordExist": func(_ *testing.T, _ *tencentcloudtest.Fake, c *dnspod.Client) error {
		return errors.Join(create(c, nil), create(c, nil))
	},
	"InvalidParameter.InvalidWeight": func(_ *testing.T, _ *tencentcloudtest.Fake, c *dnspod.Client) error {
		return create(c, func(r *dnspod.CreateRecordRequest) { r.Weight = new(uint64(101)) })
	},
	"InvalidParameter.MxInvalid": func(_ *testing.T, _ *tencentcloudtest.Fake, c *dnspod.Client) error {
		return create(c, func(r *dnspod.CreateRecordRequest) { r.RecordType, r.Value = new("MX"), new("mail.example.net.") })
	},
	"InvalidParameter.RecordIdInvalid": func(_ *testing.T, _ *tencentcloudtest.Fake, c *dnspod.Client) error {
		return status(c, 7, "ENABLE")
	},
	"InvalidParameter.RecordStatusInvalid": func(_ *testing.T, f *tencentcloudtest.Fake, c *dnspod.Client) error {
		return status(c, f.Records()[0].ID, "enabled")
	},
	"InvalidParameter.RecordLineInvalid": func(_ *testing.T, _ *tencentcloudtest.Fake, c *dnspod.Client) error {
		return create(c, func(r *dnspod.CreateRecordRequest) { r.RecordLine = new("Default") })
	},
	"InvalidParameter.RecordTypeInvalid": func(_ *testing.T, _ *tencentcloudtest.Fake, c *dnspod.Client) error {
		return create(c, func(r *dnspod.CreateRecordRequest) { r.RecordType = new("B") })
	},
	"InvalidParameter.RecordValueInvalid": func(_ *testing.T, _ *tencentcloudtest.Fake, c *dnspod.Client) error {
		return create(c, func(r *dnspod.CreateRecordRequest) { r.Value = new("300.0.0.1") })
	},
	"InvalidParameter.RecordValueLengthInvalid": func(_ *testing.T, _ *tencentcloudtest.Fake, c *dnspod.Client) error {
		return create(c, func(r *dnspod.CreateRecordRequest) {
			r.RecordType, r.Value = new("TXT"), new(strings.Repeat("a", 5000))
		})
	},
	"InvalidParameter.RemarkLengthExceeded": func(_ *testing.T, _ *tencentcloudtest.Fake, c *dnspod.Client) error {
		return create(c, func(r *dnspod.CreateRecordRequest) { r.Remark = new(strings.Repeat("字", 201)) })
	},
	"InvalidParameter.SubdomainInvalid": func(_ *testing.T, _ *tencentcloudtest.Fake, c *dnspod.Client) error {
		return create(c, func(r *dnspod.CreateRecordRequest) { r.SubDomain = new("a b") })
	},
	"InvalidParameterValue.DomainNotExists": func(_ *testing.T, _ *tencentcloudtest.Fake, c *dnspod.Client) error {
		return list(c, func(r *dnspod.DescribeRecordListRequest) { r.Domain = new("example.net") })
	},
	"InvalidParameterValue.LimitInvalid": func(_ *testing.T, _ *tencentcloudtest.Fake, c *dnspod.Client) error {
		return list(c, func(r *dnspod.DescribeRecordListRequest) { r.Limit = new(uint64(3001)) })
	},
	"LimitExceeded.RecordTtlLimit": func(_ *testing.T, _ *tencentcloudtest.Fake, c *dnspod.Client) error {
		return create(c, func(r *dnspod.CreateRecordRequest) { r.TTL = new(uint64(604801)) })
	},
	"LimitExceeded.SubdomainRollLimit": func(_ *testing.T, _ *tencentcloudtest.Fake, c *dnspod.Client) error {
		second := create(c, func(r *dnspod.CreateRecordRequest) { r.Value = new("192.0.2.2") })
		return errors.Join(create(c, nil), second, create(c, func(r *dnspod.CreateRecordRequest) { r.Value = new("192.0.2.3") }))
	},
	"MissingParameter": func(_ *testing.T, _ *tencentcloudtest.Fake, c *dnspod.Client) error {
		return list(c, func(r *dnspod.DescribeRecordListRequest) { r.Domain = nil })
	},
	"ResourceNotFound.NoDataOfRecord": func(_ *testing.T, _ *tencentcloudtest.Fake, c *dnspod.Client) error {
		return list(c, func(r *dnspod.DescribeRecordListRequest) { r.Subdomain = new("nobody") })
	},
}

func list(c *dnspod.Client, change func(*dnspod.DescribeRecordListRequest)) error {
	r := dnspod.NewDescribeRecordListRequest()
	r.Domain = new("example.com")
	if change != nil {
		change(r)
	}
	_, err := dnspod.DescribeRecordList(c, r)
	return err
}

func create(c *dnspod.Client, change func(*dnspod.CreateRecordRequest)) error {
	r := dnspod.NewCreateRecordRequest()
	r.Domain, r.SubDomain, r.RecordType, r.RecordLine, r.Value = new("example.com"), new("www"), new("A"), new("默认"), new("192.0.2.1")
	if change != nil {
		change(r)
	}
	_, err := dnspod.CreateRecord(c, r)
	return err
}

func status(c *dnspod.Client, id uint64, to string) error {
	r := dnspod.NewModifyRecordStatusRequest()
	r.Domain, r.RecordId, r.Status = new("example.com"), new(id), new(to)
	_, err := dnspod.ModifyRecordStatus(c, r)
	return err
}

// unsayable are errors that the vendor's client makes no request for: it signs
// with the clock of this machine, and knows its own API.
var unsayable = []string{
	"AuthFailure.InvalidAuthorization", "AuthFailure.SignatureExpire", "InvalidAction", "InvalidParameter", "NoSuchVersion", "UnknownParameter", "UnsupportedProtocol",
}

// TestTencentCloudVendorClientReadsEachError: whatever the fake can refuse is
// parsed by the vendor's client, code and request id.
func TestTencentCloudVendorClientReadsEachError(t *testing.T) {
	for _, code := range tencentcloudtest.Refusals() {
		t.Run(code, func(t *testing.T) {
			f := tencentcloudtest.Start(t, tencentcloudtest.Options{Roll: 2})
			c := vendorClient(t, f, tencentcloudtest.SecretKey)
			provoke := raise[code]
			if provoke == nil {
				if !slices.Contains(unsayable, code) {
					t.Fatal("nothing here brings this error about")
				}
				f.Server.Arm(httpfake.Any, 0, tencentcloudtest.Refusal(code))
				provoke = func(*testing.T, *tencentcloudtest.Fake, *dnspod.Client) error { return list(c, nil) }
			}
			var failed *sdkerrors.TencentCloudSDKError
			if err := provoke(t, f, c); !errors.As(err, &failed) || failed.GetCode() != code || failed.GetRequestId() == "" {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestTencentCloudOldSignature: a signature of six minutes ago is refused, and the
// client reads so.
func TestTencentCloudOldSignature(t *testing.T) {
	f := tencentcloudtest.Start(t, tencentcloudtest.Options{Now: func() time.Time { return time.Now().Add(6 * time.Minute) }})
	var failed *sdkerrors.TencentCloudSDKError
	if err := list(vendorClient(t, f, tencentcloudtest.SecretKey), nil); !errors.As(err, &failed) || failed.GetCode() != "AuthFailure.SignatureExpire" {
		t.Errorf("got %v", err)
	}
	f.Server.Arm(httpfake.Any, 0, httpfake.Fault{Status: http.StatusBadGateway, Header: http.Header{"Content-Type": {"text/html"}}, Body: "<html>bad gateway</html>"})
	if err := list(vendorClient(t, f, tencentcloudtest.SecretKey), nil); err == nil {
		t.Error("a page of a proxy is taken for an answer")
	}
}
