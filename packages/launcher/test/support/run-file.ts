/** A run in a process of its own: `run-file.ts CONFIGURATION FOLDER`. */
import { run } from '../../src/run/run.js';

const [configPath = '', cwd = ''] = process.argv.slice(2);
await run({
  configPath,
  cwd,
  terminal: { write: () => undefined, isTTY: false, columns: () => 80 },
});
