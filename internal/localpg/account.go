package localpg

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// account is the user that runs the server. Postgres refuses to run as root, so a process
// of root starts it as another user.
type account struct {
	uid, gid int
	other    bool // the user differs from this process's user
}

// serverAccount returns this process's user. For root it returns the user postgres, or
// nobody if there is no postgres.
func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		var unknown user.UnknownUserError
		if errors.As(err, &unknown) {
			continue
		}
		if err != nil {
			return account{}, fmt.Errorf("look up user %s: %w", name, err)
		}
		uid, err := strconv.Atoi(found.Uid)
		if err != nil {
			return account{}, fmt.Errorf("user %s: %w", name, err)
		}
		gid, err := strconv.Atoi(found.Gid)
		if err != nil {
			return account{}, fmt.Errorf("user %s: %w", name, err)
		}
		return account{uid: uid, gid: gid, other: true}, nil
	}
	return account{}, errors.New("postgres does not run as root, and there is no user postgres or nobody")
}

func (a account) credential() *syscall.Credential {
	if !a.other {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
}

// give makes the account the owner of a path that this process has just created.
func (a account) give(path string) error {
	if !a.other {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}
