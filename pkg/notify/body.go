package notify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"
)

// body is what is posted. The robots get plain text: none of their forms of markup
// has a way to write a text of others that is safe in every reader.
func (r *Receiver) body(m Message, at time.Time) ([]byte, error) {
	text := cut(m.Text(), kindLimits[r.kind].text)
	switch r.kind {
	case Slack:
		// api.slack.com, "Formatting text": these three are escaped, and no more.
		text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(inert(text))
		return encode(map[string]any{"text": text, "mrkdwn": false, "link_names": false, "parse": "none", "unfurl_links": false, "unfurl_media": false})
	case DingTalk:
		return encode(map[string]any{"msgtype": "text", "text": map[string]string{"content": inert(text)}, "at": map[string]any{"isAtAll": false}})
	case WeCom:
		return encode(map[string]any{"msgtype": "text", "text": map[string]string{"content": inert(text)}})
	case Feishu:
		return r.feishuBody(m, at)
	}
	return r.webhookBody(m)
}

// feishuBody is a post of lines. A post takes its text as it is, where a text message
// would take <at …> for a call; the brackets are replaced all the same.
func (r *Receiver) feishuBody(m Message, at time.Time) ([]byte, error) {
	type piece map[string]string
	brackets := strings.NewReplacer("<", "＜", ">", "＞")
	lines := [][]piece{}
	for line := range strings.Lines(cut(m.Rest(), kindLimits[Feishu].text)) {
		lines = append(lines, []piece{{"tag": "text", "text": brackets.Replace(inert(strings.TrimSuffix(line, "\n")))}})
	}
	post := map[string]any{"title": brackets.Replace(inert(m.Title())), "content": lines}
	body := map[string]any{"msg_type": "post", "content": map[string]any{"post": map[string]any{"zh_cn": post, "en_us": post}}}
	if r.secret != "" {
		body["timestamp"], body["sign"] = feishuSignature(r.secret, at)
	}
	return encode(body)
}

func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSpace(out.Bytes()), err
}

// Shape is what a webhook gets as JSON, and what a template is filled from. There
// every text is escaped for the inside of a JSON string, and calls nobody: it is mostly
// a chat room that gets it.
type Shape struct {
	Node    string   `json:"node"`    // who says it
	At      string   `json:"at"`      // when, RFC 3339
	Title   string   `json:"title"`   // all of it on one line
	Text    string   `json:"text"`    // all of it on several
	Topics  []string `json:"topics"`  // what it is about: down, up, write, guard, leader, override-old, test
	Lines   []string `json:"lines"`   // the text without its title, line by line
	Dropped int      `json:"dropped"` // so many messages before this one never arrived
}

func (m Message) shape() Shape {
	s := Shape{Node: m.Node, At: m.At.UTC().Format(time.RFC3339), Title: m.Title(), Dropped: m.Dropped, Topics: []string{}, Lines: []string{}}
	s.Text = cut(m.Text(), kindLimits[Webhook].text)
	for _, section := range m.Sections {
		s.Topics = append(s.Topics, string(section.Topic))
	}
	for line := range strings.Lines(cut(m.Rest(), kindLimits[Webhook].text)) {
		s.Lines = append(s.Lines, strings.TrimSuffix(line, "\n"))
	}
	return s
}

// escaped is the shape with every text inert, and as it stands inside a JSON string.
func (s Shape) escaped() Shape {
	for _, text := range []*string{&s.Node, &s.At, &s.Title, &s.Text} {
		*text = insideJSON(*text)
	}
	for _, list := range [][]string{s.Topics, s.Lines} {
		for i := range list {
			list[i] = insideJSON(list[i])
		}
	}
	return s
}

func insideJSON(text string) string {
	quoted, err := json.Marshal(inert(text)) // with <, > and & escaped as well
	if err != nil {
		return ""
	}
	return string(quoted[1 : len(quoted)-1])
}

func (r *Receiver) prepareForm(text string) error {
	if text == "" {
		return nil
	}
	form, err := template.New("template").Option("missingkey=error").Parse(text)
	if err != nil {
		return fmt.Errorf("the template cannot be read: %s", escape(err.Error()))
	}
	r.form = form
	if _, err = r.webhookBody(Sample("mon-1", time.Unix(0, 0))); err != nil {
		return err
	}
	return nil
}

// mostBody is the longest body that a template may make, in bytes.
const mostBody = 256 << 10

func (r *Receiver) webhookBody(m Message) ([]byte, error) {
	if r.form == nil {
		return encode(m.shape())
	}
	var out bytes.Buffer
	if err := r.form.Execute(&out, m.shape().escaped()); err != nil {
		return nil, fmt.Errorf("the template cannot be filled: %s", escape(err.Error()))
	}
	switch {
	case !json.Valid(out.Bytes()):
		return nil, errors.New(`the template makes no JSON; texts stand between quotes: {"text": "{{.Text}}"}`)
	case out.Len() > mostBody:
		return nil, fmt.Errorf("the template makes %d bytes, more than %d", out.Len(), mostBody)
	}
	return out.Bytes(), nil
}
