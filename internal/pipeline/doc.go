// Package pipeline reads a part of the log and decodes it on all cores, in the order of the log.
package pipeline
