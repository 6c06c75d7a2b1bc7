package projections

import "fmt"

// Mode says which of the provider's modes are accepted.
type Mode string

// The modes.
const (
	ModeAny  Mode = "any"  // every event, also one without a mode
	ModeLive Mode = "live" // events of mode live or prod
	ModeTest Mode = "test" // events of any other mode
)

// ParseMode reads PROVIDER_MODE.
func ParseMode(text string) (Mode, error) {
	switch mode := Mode(text); mode {
	case ModeAny, ModeLive, ModeTest:
		return mode, nil
	}
	return "", fmt.Errorf("PROVIDER_MODE is %q, which is none of any, live, test", text)
}

func (m Mode) accepts(eventMode string) bool {
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
