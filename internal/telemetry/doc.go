// Package telemetry provides what an operator sees of a program: logs, metrics, health and
// profiles.
package telemetry
