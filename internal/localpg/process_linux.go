package localpg

import "syscall"

// setDeathSignal makes the kernel send the signal to the child when its parent dies.
func setDeathSignal(attributes *syscall.SysProcAttr, signal syscall.Signal) {
	attributes.Pdeathsig = signal
}
