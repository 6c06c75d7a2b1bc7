// Module duckdb reads exports back with DuckDB. It is a module of its own, so that make test does not need Node.js.
package duckdb
