package console

import (
	"embed"
	"net/http"
)

//go:embed static
var files embed.FS

// static serves the stylesheet, the script and the icon.
func static() http.Handler {
	server := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache") // browsers ask again, so that they get the files of a new build
		server.ServeHTTP(w, r)
	})
}
