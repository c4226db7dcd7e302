package main

import (
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptAsk asks the API over TCP and puts what it answers into the file answer.
func scriptAsk(ts *testscript.TestScript, neg bool, args []string) {
	needArgs(ts, neg, args, 4, "ask STATUS METHOD PATH TOKEN [BODY]")
	r, err := http.NewRequest(args[1], "http://127.0.0.1:"+ts.Getenv("FREEPORT")+args[2], strings.NewReader(strings.Join(args[4:], " ")))
	ts.Check(err)
	r.Header.Set("Authorization", "Bearer "+args[3])
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	var answer string
	eventually(ts, strings.Join(args, " "), func() bool {
		body, _ := r.GetBody() // of a Reader it cannot fail
		r.Body = body
		response, err := client.Do(r)
		if err != nil {
			return false // it does not listen yet
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		answer = response.Status + "\n" + string(text)
		return err == nil && strconv.Itoa(response.StatusCode) == args[0]
	})
	ts.Check(os.WriteFile(ts.MkAbs("answer"), []byte(answer), 0o600))
}
