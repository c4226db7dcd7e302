package steer_test

import (
	"strconv"
	"testing"
	"time"

	"sidestep/pkg/steer"
)

// BenchmarkDecide decides about 10,000 record sets of each kind.
func BenchmarkDecide(b *testing.B) {
	all := steer.Spec{Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep}
	chain := steer.Spec{Policy: steer.Priority, MaxLive: 2, MinLive: 1, OnAllDown: steer.Keep, Failback: steer.Failback{Hold: 5 * time.Minute}}
	disaster := chain
	disaster.DR = steer.DR{When: "fire", IfNone: true}
	for _, c := range []struct {
		name, words string
		spec        steer.Spec
	}{
		{"all", "Yl Yl Nl", all},
		{"chain", "Nl Yl Yl Yp bYp", chain},
		{"disaster", "Nl Nl bNp dYl fp", disaster},
		{"held", "Yp Nl bYl dYp", disaster},
	} {
		b.Run(c.name, func(b *testing.B) {
			scenes := make([]scene, 10_000)
			for i := range scenes {
				scenes[i] = situation(c.spec, c.words)
				scenes[i].in.Spec.Key.Name = scenes[i].in.Spec.Key.Name.Below("h" + strconv.Itoa(i))
			}
			b.ReportAllocs()
			for b.Loop() {
				for i := range scenes {
					scenes[i].decide()
				}
			}
		})
	}
}
