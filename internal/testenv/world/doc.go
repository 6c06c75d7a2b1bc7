// Package world gives tests a log and a database with live projectors and rebuilds between them.
package world
