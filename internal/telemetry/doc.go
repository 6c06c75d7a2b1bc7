// Package telemetry is what an operator sees of a program: logs, metrics,
// health and profiles.
package telemetry
