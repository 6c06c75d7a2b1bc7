// ask.mjs: runs statements in DuckDB, one JSON text a line of the input, and writes the rows of each as a line of JSON.
import { createInterface } from 'node:readline';
import { DuckDBInstance } from '@duckdb/node-api';

const connection = await (await DuckDBInstance.create(':memory:')).connect();
await connection.run("set timezone = 'UTC'");
for await (const line of createInterface({ input: process.stdin })) {
  const reader = await connection.runAndReadAll(JSON.parse(line));
  console.log(JSON.stringify(reader.getRowsJson()));
}
