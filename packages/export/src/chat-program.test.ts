import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { chatProgram } from './chat-program.js';
import type { FormatName } from './format/formats.js';

/** Runs the program of a format beside a package of ours whose module is `source`. */
async function runProgram(
  format: FormatName,
  { name, source }: { readonly name: string; readonly source: string },
  ollamaHost = '',
): Promise<unknown> {
  const folder = await mkdtemp(path.join(tmpdir(), 'trinity-chat-program-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const local = path.join(folder, 'node_modules/@trinity-rft', name);
  await mkdir(local, { recursive: true });
  await writeFile(path.join(local, 'package.json'), '{"exports":"./index.mjs"}');
  await writeFile(path.join(local, 'index.mjs'), source);
  const settings = { file: 'model.gguf', name: 'm', dtype: 'F32', chat: {} };
  await writeFile(path.join(folder, 'chat.mjs'), chatProgram(format, settings));
  return promisify(execFile)(process.execPath, ['chat.mjs'], {
    cwd: folder,
    env: { ...process.env, OLLAMA_HOST: ollamaHost },
  });
}

it.each(['gguf', 'hf'] as const)('prints why a model of %s cannot be loaded', async (format) => {
  const source =
    'export const loadModel = async () => { throw new Error("Cannot read it.", { cause: new Error("EACCES") }); };';
  await expect(runProgram(format, { name: 'local', source })).rejects.toMatchObject({
    code: 2,
    stderr: 'Cannot read it.\nCause: EACCES\n',
  });
});

it.each([
  [
    'Promise.reject(new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") }))',
    /REFUSED/,
  ],
  ['Promise.resolve(new Response("model not found", { status: 404 }))', /: model not found\n/],
])('says what to do where Ollama answers %s', async (answer, said) => {
  const source = `
    globalThis.fetch = () => ${answer};
    export const loadTokenizer = async () => ({});
    export const createChatFormat = () => ({ render: () => '' });
  `;
  const failed: unknown = await runProgram('ollama', { name: 'chat', source }).catch(
    (error: unknown) => error,
  );
  expect(failed).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /^Ollama at http:\/\/127\.0\.0\.1:11434: .*\n.*ollama create m -f Modelfile\n$/,
    ) as string,
  });
  expect(failed).toMatchObject({ stderr: expect.stringMatching(said) as string });
});

it.each([
  ['0.0.0.0:9999', 'http://0.0.0.0:9999'],
  ['gpu.lan', 'http://gpu.lan:11434'],
  ['https://gpu.lan', 'https://gpu.lan'],
])('asks the Ollama of OLLAMA_HOST=%s', async (host, address) => {
  const source = `
    globalThis.fetch = async (url) => new Response(url, { status: 404 });
    export const loadTokenizer = async () => ({});
    export const createChatFormat = () => ({ render: () => '' });
  `;
  await expect(runProgram('ollama', { name: 'chat', source }, host)).rejects.toMatchObject({
    stderr: expect.stringContaining(`Ollama at ${address}: ${address}/api/generate\n`) as string,
  });
});
