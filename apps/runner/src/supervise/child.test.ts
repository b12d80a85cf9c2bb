import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { serverFlags } from '../shared/server-flags.js';
import { startChild } from './child.js';

let folder = '';
const { argv, execArgv } = process;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'trinity-child-'));
});
afterEach(() => {
  Object.assign(process, { argv, execArgv });
  rmSync(folder, { recursive: true });
});

it('does not inherit the flags of a server, because it computes', async () => {
  const script = path.join(folder, 'flags.js');
  writeFileSync(script, 'console.log(process.execArgv.join(" "));');
  const [, , ...rest] = argv;
  const flags = ['--no-deprecation', ...serverFlags];
  Object.assign(process, { argv: [argv[0], script, ...rest], execArgv: flags });
  const { ended } = startChild({
    name: 'training',
    args: [],
    isShown: false,
    onRestart: () => undefined,
  });
  expect(await ended).toMatchObject({ exitCode: 0, output: '--no-deprecation' });
});
