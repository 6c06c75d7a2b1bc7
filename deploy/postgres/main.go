// Command postgres prints the folder of the PostgreSQL server's binaries that a projector without DATABASE_URL runs. If
// there is none, it says so on standard error.
package main

import (
	"fmt"
	"os"

	"github.com/payfold/payfold/internal/localpg"
)

func main() {
	if dir, err := localpg.Binaries(); err == nil {
		fmt.Println(dir)
	} else {
		fmt.Fprintln(os.Stderr, err) // the status stays 0: go run would give that of a failed build
	}
}
