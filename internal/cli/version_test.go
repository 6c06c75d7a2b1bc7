package cli

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

const commit = "a831a06f00c3d1e2b4a5968778695a4b3c2d1e0f"

// The texts are what go version -m prints of a program that was built in that way.
func TestTheVersionNamesWhatWasBuilt(t *testing.T) {
	t.Parallel()
	const server = "dep\tgithub.com/nats-io/nats-server/v2\tv2.15.2\th1:x=\n"
	for name, c := range map[string]struct{ built, line string }{
		"a tag, clean": {
			"mod\tpayfold\tv1.2.3\n" + server + "build\tvcs=git\nbuild\tvcs.revision=" + commit + "\nbuild\tvcs.modified=false\n",
			"ingest v1.2.3, commit " + commit + ", go1.26.8, nats-server v2.15.2",
		},
		"a changed tree": {
			"mod\tpayfold\tv0.0.0-20261122155552-a831a06f00c3+dirty\nbuild\tvcs.revision=" + commit + "\nbuild\tvcs.modified=true\n",
			"ingest v0.0.0-20261122155552-a831a06f00c3+dirty, commit " + commit + " (modified), go1.26.8",
		},
		"go install of a tag": {
			"mod\tpayfold\tv1.2.3\th1:x=\n" + server,
			"ingest v1.2.3, commit unknown, go1.26.8, nats-server v2.15.2",
		},
		"go install of a commit": {
			"mod\tpayfold\tv1.2.4-0.20261122155552-a831a06f00c3\th1:x=\n",
			"ingest v1.2.4-0.20261122155552-a831a06f00c3, commit a831a06f00c3, go1.26.8",
		},
		"without the repository": {
			"mod\tpayfold\t(devel)\n",
			"ingest (devel), commit unknown, go1.26.8",
		},
		"a replaced nats-server": {
			"mod\tpayfold\tv1.2.3\ndep\tgithub.com/nats-io/nats-server/v2\tv2.15.2\n=>\texample.com/fork\tv2.15.3\th1:x=\n",
			"ingest v1.2.3, commit unknown, go1.26.8, nats-server v2.15.3",
		},
		"nothing noted": {"", "ingest (devel), commit unknown, go1.26.8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info, err := debug.ParseBuildInfo(c.built)
			require.NoError(t, err)
			info.GoVersion = "go1.26.8" // it is not in the text
			require.Equal(t, c.line, versionLine("ingest", info))
		})
	}
}
