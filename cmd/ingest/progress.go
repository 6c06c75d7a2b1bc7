package main

import "time"

// progressInterval is the time between two lines about a long command.
const progressInterval = 5 * time.Second

// progressDue returns a function that reports whether it is time for the next line. The first one
// is due after an interval.
func progressDue() func() bool {
	said := time.Now()
	return func() bool {
		if time.Since(said) <= progressInterval {
			return false
		}
		said = time.Now()
		return true
	}
}
