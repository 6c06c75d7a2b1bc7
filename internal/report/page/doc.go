// Package page writes text for a terminal, or JSON, of values that come from outside. It
// escapes everything that a terminal could take for a command.
package page
