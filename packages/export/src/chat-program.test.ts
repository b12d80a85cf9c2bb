import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { chatProgram } from './chat-program.js';

it.each(['gguf', 'hf'] as const)('prints why a model of %s cannot be loaded', async (format) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'trinity-chat-program-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const local = path.join(folder, 'node_modules/@trinity-rft/local');
  await mkdir(local, { recursive: true });
  await writeFile(path.join(local, 'package.json'), '{"exports":"./index.mjs"}');
  await writeFile(
    path.join(local, 'index.mjs'),
    'export const loadModel = async () => { throw new Error("Cannot read it.", { cause: new Error("EACCES") }); };',
  );
  const settings = { file: 'model.gguf', name: 'm', dtype: 'F32', chat: {} };
  await writeFile(path.join(folder, 'chat.mjs'), chatProgram(format, settings));
  const run = promisify(execFile)(process.execPath, ['chat.mjs'], { cwd: folder });
  await expect(run).rejects.toMatchObject({ code: 2, stderr: 'Cannot read it.\nCause: EACCES\n' });
});
