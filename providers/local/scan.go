package local

import (
	"errors"
	"fmt"
	"strings"
)

// token is a word of a statement as a span of its text, quotes included.
type token struct{ start, end int }

// statement is one logical line of a zone file, byte for byte: a record, a
// directive, or a line with nothing but blanks and a comment. It is several
// lines of text long where parentheses hold it together. The texts of all
// statements, one after the other, are the file.
type statement struct {
	text   string
	line   int // where it begins in the file, from 1; 0 when it is new
	tokens []token
	head
	content
}

// lineError is a fault of the file at one of its lines.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// split cuts a text into statements (RFC 1035 section 5.1). What programs are
// known to read differently is refused rather than guessed.
func split(text string) ([]statement, error) {
	all := make([]statement, 0, strings.Count(text, "\n")+1) // most are of one line
	for line := 1; text != ""; {
		s, err := scan(text, line)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
		text = text[len(s.text):]
		line += strings.Count(s.text, "\n")
	}
	return all, nil
}

// scanner walks over one statement.
type scanner struct {
	text  string
	pos   int
	depth int // of open parentheses
	s     statement
}

// scan reads the first statement of a text that begins at a line of the file.
func scan(text string, line int) (statement, error) {
	sc := scanner{text: text, s: statement{line: line}}
	for sc.pos < len(text) {
		ended, err := sc.step()
		if err != nil {
			return statement{}, sc.fail(err)
		}
		if ended {
			break
		}
	}
	if sc.depth > 0 {
		return statement{}, &lineError{line, errors.New("a parenthesis is opened and never closed")}
	}
	sc.s.text = text[:sc.pos]
	return sc.s, nil
}

// step goes past one token, blank, comment or line end, and reports whether the
// statement ends there.
func (sc *scanner) step() (ended bool, err error) {
	switch c := sc.text[sc.pos]; c {
	case '\n':
		sc.pos++
		return sc.depth == 0, nil
	case ' ', '\t':
		sc.pos++
	case '\r':
		if !strings.HasPrefix(sc.text[sc.pos:], "\r\n") {
			return false, errors.New("a carriage return that does not end the line")
		}
		sc.pos++
	case ';':
		sc.skipComment()
	case '(':
		if sc.pos == 0 {
			return false, errors.New("a parenthesis in the first column: write the owner name, or a blank, before it")
		}
		sc.depth++
		sc.pos++
	case ')':
		sc.depth--
		sc.pos++
		if sc.depth < 0 {
			return false, errors.New("a parenthesis is closed that was not opened")
		}
	default:
		return false, sc.word()
	}
	return false, nil
}

func (sc *scanner) skipComment() {
	if i := strings.IndexByte(sc.text[sc.pos:], '\n'); i >= 0 {
		sc.pos += i
		return
	}
	sc.pos = len(sc.text)
}

// word reads one token. A quoted text ends its token when the token began with
// it; inside a token (alpn="h2,h3") it is a part of it.
func (sc *scanner) word() error {
	start := sc.pos
	quoted := sc.text[start] == '"'
	for sc.pos < len(sc.text) {
		switch c := sc.text[sc.pos]; {
		case c == '"':
			if err := sc.quote(); err != nil {
				return err
			}
			if quoted {
				sc.s.tokens = append(sc.s.tokens, token{start, sc.pos})
				return nil
			}
		case strings.IndexByte(" \t\r\n;()", c) >= 0:
			sc.s.tokens = append(sc.s.tokens, token{start, sc.pos})
			return nil
		case c < ' ' || c == 0x7f:
			return fmt.Errorf("the control character %q: write it as \\%03d", c, c)
		default:
			if err := sc.char(); err != nil {
				return err
			}
		}
	}
	sc.s.tokens = append(sc.s.tokens, token{start, sc.pos})
	return nil
}

// quote goes past a quoted text, both its quotes included.
func (sc *scanner) quote() error {
	sc.pos++
	for sc.pos < len(sc.text) {
		switch sc.text[sc.pos] {
		case '"':
			sc.pos++
			return nil
		case '\n', '\r':
			return errors.New("a quoted text that does not end on its line")
		default:
			if err := sc.char(); err != nil {
				return err
			}
		}
	}
	return errors.New("a quoted text that does not end")
}

// char goes past one character, with the one that a backslash escapes.
func (sc *scanner) char() error {
	if sc.text[sc.pos] != '\\' {
		sc.pos++
		return nil
	}
	if sc.pos+1 == len(sc.text) || sc.text[sc.pos+1] == '\n' || sc.text[sc.pos+1] == '\r' {
		return errors.New("a backslash at the end of the line")
	}
	sc.pos += 2
	return nil
}

func (sc *scanner) fail(err error) error {
	return &lineError{sc.s.line + strings.Count(sc.text[:sc.pos], "\n"), err}
}

// word is the text of a token.
func (s *statement) word(i int) string { return s.text[s.tokens[i].start:s.tokens[i].end] }

// remark is the comment at the end of a one-line statement with the blanks
// before it, so that a line which takes this one's place can keep it.
func (s *statement) remark() string {
	text := strings.TrimRight(s.text, "\r\n")
	if len(s.tokens) == 0 || strings.Contains(text, "\n") {
		return ""
	}
	end := s.tokens[len(s.tokens)-1].end
	comment := strings.IndexByte(text[end:], ';')
	if comment < 0 {
		return ""
	}
	return text[len(strings.TrimRight(text[:end+comment], " \t")):]
}

// eol is the line end of a statement: "\n", "\r\n" or, at the end of a file,
// nothing.
func (s *statement) eol() string {
	return s.text[len(strings.TrimRight(s.text, "\r\n")):]
}
