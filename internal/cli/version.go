package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/payfold/payfold/internal/telemetry"
)

// Version is the flag --version. It prints one line, from what Go records in every program
// that it builds.
type Version struct {
	Version versionFlag `name:"version" help:"Print the version, the commit, and what it is built with."`
}

type versionFlag bool

// BeforeReset prints the line before kong reads the configuration.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	_, err := fmt.Fprintln(app.Stdout, versionLine(app.Model.Name, buildInfo()))
	app.Exit(0)
	return err
}

// IgnoreDefault makes kong call BeforeReset only if the flag is given.
func (versionFlag) IgnoreDefault() {}

// natsServer is the module that writes the files of the log.
const natsServer = "github.com/nats-io/nats-server/v2"

// pseudoVersion matches the version of a commit without a tag. It contains the commit.
var pseudoVersion = regexp.MustCompile(`\d{14}-([0-9a-f]{12})(?:\+|$)`)

// Build returns what this program was built from.
func Build() telemetry.Build { return buildOf(buildInfo()) }

func buildInfo() *debug.BuildInfo {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return &debug.BuildInfo{GoVersion: runtime.Version()}
	}
	return info
}

func buildOf(info *debug.BuildInfo) telemetry.Build {
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	version := cmp.Or(info.Main.Version, "(devel)")
	commit := settings["vcs.revision"]
	if match := pseudoVersion.FindStringSubmatch(version); commit == "" && match != nil {
		commit = match[1]
	}
	commit = cmp.Or(commit, "unknown")
	if settings["vcs.modified"] == "true" || strings.HasSuffix(version, "+dirty") {
		commit += " (modified)"
	}
	return telemetry.Build{Version: version, Commit: commit, GoVersion: info.GoVersion}
}

func versionLine(program string, info *debug.BuildInfo) string {
	build := buildOf(info)
	out := []string{program + " " + build.Version, "commit " + build.Commit, build.GoVersion}
	for _, module := range info.Deps {
		if module.Path == natsServer {
			for module.Replace != nil {
				module = module.Replace
			}
			out = append(out, "nats-server "+cmp.Or(module.Version, "(devel)"))
		}
	}
	return strings.Join(out, ", ")
}
