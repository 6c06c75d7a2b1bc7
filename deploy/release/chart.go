package main

import (
	"path/filepath"
	"time"
)

// writeChart writes the chart for Kubernetes, whose version is that of the programs.
func (c *commit) writeChart(to, version string) (name string, err error) {
	if to, err = filepath.Abs(to); err != nil {
		return "", err
	}
	_, err = output(c.path("deploy/helm/tools"), []string{"GOFLAGS=", "GOWORK=off"}, "go", "run", "./pack",
		"-version", version, "-time", c.time.Format(time.RFC3339), "-to", to, "../payfold")
	return "payfold-" + version + ".tgz", err
}
