package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// commit is a clone of what is released. Files that are not committed are not in it, and Go notes its
// commit and tag in the programs.
type commit struct {
	folder string
	time   time.Time // of everything that is written, unless SOURCE_DATE_EPOCH says another one
}

// checkOut clones the commit that the repository is at.
func checkOut(repository string) (*commit, error) {
	repository, err := filepath.Abs(repository)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "payfold-release-")
	if err != nil {
		return nil, err
	}
	c := &commit{folder: folder}
	if _, err := output("", nil, "git", "clone", "-q", repository, folder); err != nil {
		c.remove()
		return nil, err
	}
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		if epoch, err = output(folder, nil, "git", "log", "-1", "--format=%ct"); err != nil {
			c.remove()
			return nil, err
		}
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(epoch), 10, 64)
	if err != nil {
		c.remove()
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	c.time = time.Unix(seconds, 0).UTC()
	return c, nil
}

func (c *commit) remove() { _ = os.RemoveAll(c.folder) }

// path returns the path of a file of the repository.
func (c *commit) path(name string) string { return filepath.Join(c.folder, filepath.FromSlash(name)) }

// output runs a command in a folder, with further variables, and returns its standard output.
func output(folder string, env []string, name string, args ...string) (string, error) {
	command := exec.Command(name, args...)
	command.Dir, command.Env = folder, append(os.Environ(), env...)
	out, err := command.Output()
	if err == nil {
		return string(out), nil
	}
	if ended, is := err.(*exec.ExitError); is {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(ended.Stderr)))
	}
	return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
}
