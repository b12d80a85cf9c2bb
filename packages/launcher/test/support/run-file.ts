/** Executes a training run in a separate process: `run-file.ts CONFIGURATION FOLDER`. */
import { run } from '../../src/run/run.js';

const [configPath = '', cwd = ''] = process.argv.slice(2);
await run({
  configPath,
  cwd,
  terminal: { write: () => undefined, isTTY: false, columns: () => 80 },
});
