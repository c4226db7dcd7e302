package probe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"sidestep/pkg/check"
)

const (
	theStream     = 1         // a client's first stream (RFC 9113 section 5.1.1); a probe has no other
	frameSize     = 16384     // the largest frame that either side may send unless told otherwise (section 6.5.2)
	initialWindow = 1<<16 - 1 // bytes of DATA that may come unless told otherwise (section 6.9.2)
	maxAnswered   = 100       // SETTINGS and PING frames of the server that are answered
)

// prepareHTTP2 writes once for all probes what goes to the wire first: preface,
// settings, and the request. The window is as large as the body may be and is
// never opened again, so a server that sends more breaks the protocol, and one
// that waits for more has sent too much.
func (s *shared) prepareHTTP2() error {
	var wire bytes.Buffer
	wire.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&wire, nil)
	settings := []http2.Setting{{ID: http2.SettingEnablePush, Val: 0}, {ID: http2.SettingMaxHeaderListSize, Val: maxHeaders}}
	s.window = initialWindow
	if s.readsBody() {
		s.window = min(s.wireLimit(), math.MaxInt32)
		settings = append(settings, http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(s.window)})
	}
	err := framer.WriteSettings(settings...)
	if more := s.window - initialWindow; more > 0 {
		err = errors.Join(err, framer.WriteWindowUpdate(0, uint32(more)))
	}
	block := s.headerBlock()
	first := min(len(block), frameSize)
	err = errors.Join(err, framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: theStream, BlockFragment: block[:first], EndStream: true, EndHeaders: first == len(block),
	}))
	for rest := block[first:]; len(rest) > 0; {
		next := min(len(rest), frameSize)
		err = errors.Join(err, framer.WriteContinuation(theStream, next == len(rest), rest[:next]))
		rest = rest[next:]
	}
	if err != nil {
		return fmt.Errorf("write request for HTTP/2: %w", err)
	}
	s.request2 = wire.Bytes()
	return nil
}

// headerBlock is the request's header in HPACK. The values of the check are
// secrets, which no proxy may keep in its table (RFC 7541 section 7.1.3).
func (s *shared) headerBlock() []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	write := func(name, value string, secret bool) {
		_ = encoder.WriteField(hpack.HeaderField{Name: name, Value: value, Sensitive: secret}) // to memory
	}
	write(":method", s.asked.Method, false)
	write(":scheme", s.spec.Scheme, false)
	write(":authority", s.asked.Host, false)
	write(":path", s.asked.URL.RequestURI(), false)
	for _, name := range slices.Sorted(maps.Keys(s.asked.Header)) {
		switch name {
		case "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Transfer-Encoding", "Upgrade":
			continue // HTTP/2 has none of them (RFC 9113 section 8.2.2)
		}
		for _, value := range s.asked.Header[name] {
			write(strings.ToLower(name), textproto.TrimString(value), name != "User-Agent" && name != "Accept-Encoding")
		}
	}
	switch s.asked.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		write("content-length", "0", false)
	}
	return block.Bytes()
}

// exchange2 sends the request and judges the answer, as exchange does.
func (a *attempt) exchange2(stream io.ReadWriter) *failure {
	a.phase = check.PhaseSend
	if _, err := stream.Write(a.shared.request2); err != nil {
		return a.failed(err)
	}
	in := pool.Get().(*reader)
	defer in.release()
	a.limit = maxHeaders
	in.begin(stream, a.limit)
	r := newReader2(stream, in, a.shared.window)

	response, f := a.readHeaders2(r) //nolint:bodyclose // the body holds nothing, as in exchange
	if f != nil {
		return f
	}
	// Frames of one byte need ten, and padding and pings count as well.
	return a.judge(response, in, 2*a.shared.wireLimit())
}

// readHeaders2 reads up to the headers of the final response.
func (a *attempt) readHeaders2(r *reader2) (*http.Response, *failure) {
	a.phase = check.PhaseHeaders
	for range maxInterim + 1 {
		response, err := r.header()
		if err != nil {
			return nil, a.failed(err)
		}
		if response.StatusCode/100 != 1 {
			r.expect(response, a.shared.asked.Method)
			return response, nil
		}
	}
	return nil, fail(a.phase, check.CauseMismatch, "more than %d interim responses and no final one", maxInterim)
}

// trouble is what a server did wrong in HTTP/2, or what it refused. The text is
// the server's in part.
type trouble struct {
	cause check.Cause
	text  string
}

// Error is the text.
func (t *trouble) Error() string { return t.text }

func troublef(cause check.Cause, format string, args ...any) error {
	return &trouble{cause, fmt.Sprintf(format, args...)}
}

// reader2 reads the answer on the one stream of a connection, and is the body
// of its response. It answers what a client has to answer. Everything happens
// in the calls of its user: there is no goroutine and no second stream.
type reader2 struct {
	framer   *http2.Framer
	window   int64 // bytes of DATA that may still come
	settled  bool  // the server's settings have come, which have to be first
	answered int   // frames that were answered
	ended    bool  // the server has ended the stream
	data     []byte
	declared int64 // the body's length as its header has it, or -1
	came     int64 // bytes of body so far
}

func newReader2(out io.Writer, in *reader, window int64) *reader2 {
	framer := http2.NewFramer(out, &in.buffered)
	framer.SetMaxReadFrameSize(frameSize)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil) // the table's size unless told otherwise (RFC 9113 section 6.5.2)
	framer.MaxHeaderListSize = maxHeaders
	return &reader2{framer: framer, window: window, declared: -1}
}

// header reads the next response, interim or final.
func (r *reader2) header() (*http.Response, error) {
	frame, err := r.next()
	if err != nil {
		return nil, err
	}
	headers, ok := frame.(*http2.MetaHeadersFrame)
	if !ok {
		return nil, troublef(check.CauseMismatch, "expected HEADERS, got %s", frame.Header().Type)
	}
	text := headers.PseudoValue("status")
	status, err := strconv.Atoi(text)
	if err != nil || len(text) != 3 || status < 100 {
		return nil, troublef(check.CauseMismatch, "expected a :status of three digits, got %q", text)
	}
	interim := status/100 == 1
	if interim && (headers.StreamEnded() || status == http.StatusSwitchingProtocols) {
		return nil, troublef(check.CauseMismatch, "expected a final response, got %d as the last (RFC 9113 section 8.1)", status)
	}
	r.ended = headers.StreamEnded()
	response := &http.Response{
		Status: strings.TrimSpace(text + " " + http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/2.0", ProtoMajor: 2, Header: http.Header{}, Body: io.NopCloser(r),
	}
	for _, field := range headers.RegularFields() {
		response.Header.Add(field.Name, field.Value)
	}
	return response, nil
}

// expect takes the length that the headers announce. An answer to HEAD, and
// 304, announce what they do not send (RFC 9110 section 8.6).
func (r *reader2) expect(response *http.Response, method string) {
	text := response.Header.Get("Content-Length")
	if text == "" || method == http.MethodHead || response.StatusCode == http.StatusNotModified {
		return
	}
	if length, err := strconv.ParseUint(text, 10, 63); err == nil {
		r.declared = int64(length)
	}
}

// Read reads the body.
func (r *reader2) Read(p []byte) (int, error) {
	for len(r.data) == 0 {
		if r.ended {
			if r.declared >= 0 && r.came != r.declared {
				return 0, troublef(check.CauseMismatch, "expected %d bytes of body (content-length), got %d", r.declared, r.came)
			}
			return 0, io.EOF
		}
		if err := r.more(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.data)
	r.data = r.data[n:]
	return n, nil
}

// more reads the next piece of the body, or the trailers that end it.
func (r *reader2) more() error {
	if r.window == 0 {
		return errTooLarge
	}
	frame, err := r.next()
	if err != nil {
		return err
	}
	switch f := frame.(type) {
	case *http2.DataFrame:
		if r.window -= int64(f.Length); r.window < 0 {
			return troublef(check.CauseMismatch, "more DATA came than the window allows")
		}
		r.data, r.ended = f.Data(), f.StreamEnded()
		r.came += int64(len(r.data))
	case *http2.MetaHeadersFrame:
		if r.ended = f.StreamEnded(); !r.ended {
			return troublef(check.CauseMismatch, "expected DATA or trailers, got HEADERS that end nothing")
		}
	}
	return nil
}

// next reads on to the next HEADERS or DATA frame of the stream.
func (r *reader2) next() (http2.Frame, error) {
	for {
		frame, err := r.framer.ReadFrame()
		if err != nil {
			return nil, r.wrong(frame, err)
		}
		if settings, ok := frame.(*http2.SettingsFrame); !r.settled && (!ok || settings.IsAck()) {
			return nil, troublef(check.CauseMismatch, "expected SETTINGS first, got %s", frame.Header().Type)
		}
		r.settled = true
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			if f.Truncated {
				return nil, errTooLarge
			}
			return f, r.onStream(f.FrameHeader)
		case *http2.DataFrame:
			return f, r.onStream(f.FrameHeader)
		default:
			if err := r.control(f); err != nil {
				return nil, err
			}
		}
	}
}

func (r *reader2) onStream(header http2.FrameHeader) error {
	if header.StreamID != theStream {
		return troublef(check.CauseMismatch, "got %s on stream %d, which was never opened", header.Type, header.StreamID)
	}
	return nil
}

// control answers a frame that is not part of the answer, or takes it for the
// end. Whether an answer gets out does not matter: reading on will show.
func (r *reader2) control(frame http2.Frame) error {
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() {
			r.answered++
			_ = r.framer.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			r.answered++
			_ = r.framer.WritePing(true, f.Data)
		}
	case *http2.GoAwayFrame:
		if f.ErrCode != http2.ErrCodeNo || f.LastStreamID < theStream {
			return ended("GOAWAY", f.ErrCode, string(f.DebugData()))
		}
	case *http2.RSTStreamFrame:
		if f.StreamID != theStream {
			return r.onStream(f.FrameHeader)
		}
		return ended("RST_STREAM", f.ErrCode, "")
	case *http2.PushPromiseFrame:
		return troublef(check.CauseMismatch, "got PUSH_PROMISE, which was switched off")
	}
	if r.answered > maxAnswered {
		return troublef(check.CauseMismatch, "more than %d SETTINGS and PING frames came", maxAnswered)
	}
	return nil // a WINDOW_UPDATE, or what RFC 9113 section 4.1 says to ignore
}

// ended words the frame by which a server ended stream or connection.
func ended(frame string, code http2.ErrCode, debug string) error {
	if code == http2.ErrCodeHTTP11Required {
		return troublef(check.CauseMismatch, "the server wants HTTP/1.1 for this request (%s): give the check http2: false", code)
	}
	text := fmt.Sprintf("the server ended it by %s, %s", frame, code)
	if debug != "" {
		text += ": " + strconv.Quote(debug)
	}
	return &trouble{check.CauseReset, text}
}

// wrong judges an error of reading a frame. Those of the connection are passed
// on as they are.
func (r *reader2) wrong(frame http2.Frame, err error) error {
	if headers, ok := frame.(*http2.MetaHeadersFrame); ok && headers != nil && headers.Truncated {
		return errTooLarge
	}
	var (
		connection http2.ConnectionError
		stream     http2.StreamError
	)
	switch {
	case errors.As(err, &connection), errors.As(err, &stream):
		if detail := r.framer.ErrorDetail(); detail != nil {
			err = fmt.Errorf("%w: %w", err, detail)
		}
	case errors.Is(err, http2.ErrFrameTooLarge):
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF // between two frames, but not at the end of the stream
	default:
		return err
	}
	return troublef(check.CauseMismatch, "not HTTP/2: %v", err)
}
