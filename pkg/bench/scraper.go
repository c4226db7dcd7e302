package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// scrape asks a blackbox exporter for each target of a world once an interval, as
// Prometheus does, until ctx ends: each at its own time within the interval, over
// connections that are kept. What the exporter answers is read and thrown away; a
// request that fails is the exporter's loss, and shows in what the target sees.
func scrape(ctx context.Context, exporter string, w World) {
	client := &http.Client{Timeout: w.Interval, Transport: &http.Transport{MaxIdleConnsPerHost: w.Targets}}
	var all sync.WaitGroup
	for i := range w.Targets {
		query := url.Values{"module": {"web"}, "target": {fmt.Sprintf("http://%s:%d/", Address(i), w.Port)}}
		address := "http://" + exporter + "/probe?" + query.Encode()
		first := w.Interval * time.Duration(i) / time.Duration(w.Targets)
		all.Go(func() { each(ctx, first, w.Interval, func() { ask(ctx, client, address) }) })
	}
	all.Wait()
}

// each calls do after first, and then once an interval.
func each(ctx context.Context, first, interval time.Duration, do func()) {
	for next := time.Now().Add(first); ; next = next.Add(interval) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(next)):
		}
		do()
	}
}

func ask(ctx context.Context, client *http.Client, address string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return
	}
	answer, err := client.Do(request)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
}
