package projections

import (
	"encoding/json"
	"fmt"
)

// AppendJSON appends the facts as JSON. Equal facts give equal bytes.
func (f Facts) AppendJSON(out []byte) []byte {
	text, err := json.Marshal(f)
	if err != nil {
		panic(fmt.Sprintf("encode facts: %v", err)) // a Fact has only texts, numbers and times of years with four digits
	}
	return append(out, text...)
}

// ParseFacts reads what AppendJSON wrote.
func ParseFacts(text []byte) (f Facts, err error) {
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	return f, nil
}

// String returns the facts as JSON.
func (f Facts) String() string {
	if len(f) == 0 {
		return "[]"
	}
	return string(f.AppendJSON(nil))
}
