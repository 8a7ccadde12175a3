// Registry is a real registry for tests (distribution, with nothing on disk), and beside it a folder of static files, such
// as a Helm repository. It listens on this machine alone, says on its first line of output where, and ends when its input
// is closed: so it does not outlive the test that started it.
//
//	/v2/…     the registry
//	/files/…  the files of -files
//	/hop/…    sends one on to /files/…
//	/round/…  sends one on to itself
package main

import (
	"context"
	"crypto/subtle"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/sirupsen/logrus"
)

const settings = `
version: 0.1
log:
  level: error
  accesslog:
    disabled: true
storage:
  inmemory: {}
  delete:
    enabled: true
http:
  secret: only-for-tests
`

func main() {
	files := flag.String("files", "", "`folder` that is served below /files/")
	login := flag.String("login", "", "`user:password` that everything asks for")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: registry [-files FOLDER] [-login USER:PASSWORD]")
		os.Exit(2)
	}
	if err := run(*files, *login); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(files, login string) error {
	// Nothing is to be reported to anyone.
	for _, kind := range []string{"TRACES", "METRICS", "LOGS"} {
		if err := os.Setenv("OTEL_"+kind+"_EXPORTER", "none"); err != nil {
			return err
		}
	}
	logrus.SetOutput(io.Discard)
	config, err := configuration.Parse(strings.NewReader(settings))
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/v2/", handlers.NewApp(context.Background(), config))
	if files != "" {
		mux.Handle("/files/", http.StripPrefix("/files/", http.FileServer(http.Dir(files))))
	}
	mux.HandleFunc("/hop/", func(answer http.ResponseWriter, request *http.Request) {
		http.Redirect(answer, request, "/files/"+strings.TrimPrefix(request.URL.Path, "/hop/"), http.StatusFound)
	})
	mux.HandleFunc("/round/", func(answer http.ResponseWriter, request *http.Request) {
		http.Redirect(answer, request, request.URL.Path, http.StatusFound)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(listener, guarded(mux, login))
}

// guarded asks for a login, if there is one.
func guarded(next http.Handler, login string) http.Handler {
	if login == "" {
		return next
	}
	return http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		user, password, _ := request.BasicAuth()
		if subtle.ConstantTimeCompare([]byte(user+":"+password), []byte(login)) != 1 {
			answer.Header().Set("WWW-Authenticate", `Basic realm="tests"`)
			http.Error(answer, `{"errors":[{"code":"UNAUTHORIZED","message":"log in"}]}`, http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(answer, request)
	})
}
