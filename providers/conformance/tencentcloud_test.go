package conformance

import (
	"testing"

	"sidestep/pkg/provider"
	"sidestep/providers/tencentcloud"
	"sidestep/providers/tencentcloud/tencentcloudtest"
)

func tencentSettings(f *tencentcloudtest.Fake) provider.Settings {
	return provider.Settings{
		Zone:    "example.com.",
		Options: map[string]string{"endpoint": f.Server.URL},
		Secrets: map[string]provider.Secret{
			"secret_id": provider.NewSecret(tencentcloudtest.SecretID), "secret_key": provider.NewSecret(tencentcloudtest.SecretKey),
		},
	}
}

func TestTencentCloud(t *testing.T) {
	f := tencentcloudtest.Start(t, tencentcloudtest.Options{})
	adapter, err := tencentcloud.New(tencentSettings(f))
	if err != nil {
		t.Fatal(err)
	}
	run(t, adapter, nil)
}
