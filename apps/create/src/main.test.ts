import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';

const sources = [
  '--conditions=@trinity-rft/source',
  `--import=${new URL('../../../tools/register-source.mjs', import.meta.url).href}`,
];
/** Answers questions from a pipe as from a terminal. */
const script = `process.stdin.isTTY = process.stdout.isTTY = true;
const { main } = await import(${JSON.stringify(new URL('main.ts', import.meta.url).href)});
process.exitCode = await main([]);`;

it.each([
  ['the end of the input', ''],
  ['Ctrl-C', '\u0003'],
  ['Ctrl-D at the second question', 'folder\r\u0004'],
])('ends with 130 and without a message at %s', async (_, input) => {
  const child = spawn(process.execPath, [...sources, '--input-type=module', '-e', script]);
  let said = '';
  child.stderr.on('data', (text: Buffer) => (said += String(text)));
  child.stdout.once('data', () => child.stdin.end(input));
  const [exitCode] = (await once(child, 'close')) as [number];
  expect([exitCode, said]).toEqual([130, '']);
});
