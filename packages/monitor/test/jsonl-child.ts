/**
 * Process that the kill test kills: writes records until then, and prints each step after its
 * record was written.
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
