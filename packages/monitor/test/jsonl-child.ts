/**
 * Writes records for ever, saying each step after it was written: the process that the kill test
 * kills.
 */
import { writeSync } from 'node:fs';
import { jsonlSink } from '../src/index.js';

const sink = jsonlSink({ path: process.argv[2]!, resume: {} });
const metrics = Object.fromEntries(
  Array.from({ length: 40 }, (_, index) => [`rollout/metric_${index}/mean`, index / 7]),
);
for (let step = 1; ; step++) {
  sink.write({ role: 'trainer', step, metrics });
  writeSync(1, `${step}\n`);
}
