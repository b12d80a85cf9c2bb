/** Creates the data and the model, and trains the agent. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { run, standardTerminal } from '@trinity-rft/launcher';
import { prepare } from './prepare.ts';

const interrupt = new AbortController();
process.once('SIGINT', () => interrupt.abort());

await rm('runs', { recursive: true, force: true });
await prepare(path.join('runs', 'data'), Number(process.env['AGENTSCOPE_SEED'] ?? 42));
await run({
  configPath: 'train.yaml',
  pluginDirs: ['plugins'],
  terminal: standardTerminal(),
  signal: interrupt.signal,
});
