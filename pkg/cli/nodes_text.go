package cli

import (
	"cmp"
	"time"

	"sidestep/pkg/control"
)

// nodeRows are the nodes that share an etcd, as this one hears them.
func nodeRows(nodes []control.Node, now time.Time) [][]string {
	rows := [][]string{{"NODE", "VANTAGE", "HOST", "CONFIG", "HEARD"}}
	for _, n := range nodes {
		rows = append(rows, []string{n.Name, cmp.Or(n.Vantage, "-"), cmp.Or(n.Host, "-"), cmp.Or(n.Config, "-"), heardWords(n, now)})
	}
	return rows
}

func heardWords(n control.Node, now time.Time) string {
	text := "not yet"
	switch {
	case n.Own:
		text = "this node"
	case n.Heard != nil && n.Silent:
		text = "silent for " + since(now, *n.Heard)
	case n.Heard != nil:
		text = since(now, *n.Heard) + " ago"
	}
	if n.Blind {
		text += ", blind: its canary fails"
	}
	if n.Mute != "" {
		text += ", counts for itself alone"
	}
	return text
}
