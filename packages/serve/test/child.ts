/** A separate process with a turn store. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface Ended {
  readonly status: number | NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export interface ChildOptions {
  /** Code that every thread of the process runs first. */
  readonly preload?: string;
  /** Line of output at which the process is killed. */
  readonly killAt?: string;
}

const root = fileURLToPath(new URL('../../../', import.meta.url));
const opening = `
import { writeSync } from 'node:fs';
import { createExperience } from '@trinity-rft/core';
import { openTurnStore } from '@trinity-rft/serve';
const call = (msgId) => ({ msgId, session: 's', experiences: [
  createExperience({ tokens: [1, 2], promptLength: 1, logprobs: [-1], policyVersion: 0, temperature: 1 }),
] });
// Starting a thread makes standard output non-blocking: it is full when the parent reads too slowly.
const say = (line) => {
  for (;;) {
    try {
      return writeSync(1, line + '\\n');
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
};
const turns = await openTurnStore({ path: process.argv[1] });
`;

/**
 * Runs a script with the variables `turns` (the store at `path`), `call(MSG_ID)` and `say(LINE)`.
 * Timeout: 30 s.
 */
export function inChild(
  path: string,
  script: string,
  { preload, killAt }: ChildOptions = {},
): Promise<Ended> {
  const preloaded =
    preload === undefined ? [] : [`--import=data:text/javascript,${encodeURIComponent(preload)}`];
  const sources = [
    '--conditions=@trinity-rft/source',
    `--import=${new URL('../../../tools/register-source.mjs', import.meta.url).href}`,
  ];
  const child = spawn(
    process.execPath,
    [...sources, ...preloaded, '--input-type=module', '--eval', opening + script, path],
    {
      cwd: `${root}packages/launcher`,
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 30_000,
    },
  );
  let [out, err] = ['', ''];
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    if (killAt !== undefined && out.includes(killAt)) child.kill('SIGKILL');
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ status: code ?? signal, out, err }));
  });
}
