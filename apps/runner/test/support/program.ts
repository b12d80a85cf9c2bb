/**
 * User program for tests: runs a configuration, prints the result and the resources that are still
 * open, and exits without `process.exit`.
 */
import { run } from '@trinity-rft/launcher';

const [configPath = '', interruptAfter] = process.argv.slice(2);
const interrupt = new AbortController();
let output = '';
const write = (text: string): void => {
  output += text;
  if (interruptAfter !== undefined && output.includes(interruptAfter)) interrupt.abort();
};
const ended = await run({
  configPath,
  pluginDirs: ['plugins'],
  terminal: { write, isTTY: false, columns: () => 80 },
  signal: interrupt.signal,
}).catch((error: unknown) => error);
// Node.js lists the last file operation until one turn of the event loop after its result.
await new Promise((resolve) => setImmediate(resolve));
const how = ended instanceof Error ? ended.name : JSON.stringify(ended);
process.stdout.write(
  `${how} ${process
    .getActiveResourcesInfo()
    .filter((name) => name !== 'TTYWrap' && name !== 'PipeWrap')
    .join()}\n`,
);
