import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { jsonlSink } from '../src/index.js';
import { useFolder } from './folder.js';

const inFolder = useFolder();
const child = fileURLToPath(new URL('jsonl-child.ts', import.meta.url));
const register = new URL('../../../tools/register-source.mjs', import.meta.url).href;

it('has every record that a killed process said it wrote, and no torn line once it is opened again', async () => {
  const file = inFolder('metrics.jsonl');
  const worker = spawn(
    process.execPath,
    ['--conditions=@trinity-rft/source', `--import=${register}`, child, file],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const ended = once(worker, 'close');
  let said = 0;
  for await (const line of createInterface({ input: worker.stdout })) {
    said = Number(line);
    if (said === 200) worker.kill('SIGKILL');
  }
  expect(await ended).toEqual([null, 'SIGKILL']);

  await jsonlSink({ path: file }).close();
  const steps = readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { step: number }).step);
  expect(steps).toEqual(Array.from({ length: steps.length }, (_, index) => index + 1));
  expect(steps.length).toBeGreaterThanOrEqual(Math.max(200, said));
}, 30_000);
