package projections

import "fmt"

// Mode says which of the provider's modes count.
type Mode string

// The modes.
const (
	ModeAny  Mode = "any"  // everything, also events that say nothing of it
	ModeLive Mode = "live" // live and prod
	ModeTest Mode = "test" // everything else that says what it is
)

// ParseMode reads PROVIDER_MODE.
func ParseMode(text string) (Mode, error) {
	switch mode := Mode(text); mode {
	case ModeAny, ModeLive, ModeTest:
		return mode, nil
	}
	return "", fmt.Errorf("PROVIDER_MODE is %q, which is none of any, live, test", text)
}

func (m Mode) takes(eventMode string) bool {
	live := eventMode == "live" || eventMode == "prod"
	switch m {
	case ModeLive:
		return live
	case ModeTest:
		return eventMode != "" && !live
	default:
		return true
	}
}
