/** Compares GGUF files of SmolLM2 that we write with those of llama.cpp's own converter. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readTokenizerFiles } from '@trinity-rft/chat';
import { openGguf, saveGgufModel, type GgufFileType } from '@trinity-rft/chat/gguf';
import { loadModelFolder, openWeights, saveModelFolder } from '@trinity-rft/engine-onnx';
import { findPython } from '@trinity-rft/test-support';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { findModel } from './support/model.ts';

const execute = promisify(execFile);
/** Sources of llama.cpp with its converter, as a git bundle inside the npm package. */
const bundle = fileURLToPath(
  new URL('../llama/gitRelease.bundle', import.meta.resolve('node-llama-cpp')),
);
const packages = ['torch', 'transformers', 'gguf', 'accelerate', 'sentencepiece', 'protobuf'];

let scratch = '';
let missing = '';
let python = '';
let config: Readonly<Record<string, unknown>> = {};
const folder = (): string => path.join(scratch, 'model');

beforeAll(async () => {
  scratch = await mkdtemp(path.join(tmpdir(), 'trinity-smollm2-'));
  const model = await findModel();
  const found = await findPython(packages);
  if ('missing' in model || 'missing' in found) {
    missing = [model, found].flatMap((part) => ('missing' in part ? part.missing : [])).join('; ');
    return;
  }
  python = found.program;
  const { weights, ...files } = await loadModelFolder(model.file);
  await saveModelFolder(folder(), files, weights);
  config = JSON.parse(files.configText) as typeof config;
  await execute('git', ['clone', '--quiet', bundle, path.join(scratch, 'llama.cpp')]);
}, 2_000_000);
afterAll(() => rm(scratch, { recursive: true, force: true }));

async function convert(type: string, { skip }: TestContext): Promise<string> {
  if (missing !== '') skip(missing);
  const target = path.join(scratch, `theirs-${type}.gguf`);
  const script = path.join(scratch, 'llama.cpp', 'convert_hf_to_gguf.py');
  await execute(python, [script, folder(), '--outtype', type, '--outfile', target], {
    maxBuffer: 1 << 26,
  });
  return target;
}

async function save(type: GgufFileType): Promise<string> {
  const target = path.join(scratch, `ours-${type}.gguf`);
  const weights = await openWeights(folder());
  const tokenizer = await readTokenizerFiles(folder());
  await saveGgufModel({ config, tokenizer, weights, target, type });
  await weights.close();
  return target;
}

/** Digests of the numbers, and formats, of all tensors of a file. */
function tensorsOf(target: string): Readonly<Record<string, string>> {
  const file = openGguf(target);
  const found = [...file.tensors.values()].map(({ name, shape, type }) => {
    const values = new Float32Array(shape.reduce((product, n) => product * n, 1));
    file.read(name, values);
    const digest = createHash('sha256').update(new Uint8Array(values.buffer)).digest('hex');
    return [name, `${type} [${shape.join(', ')}] ${digest}`] as const;
  });
  file.close();
  return Object.fromEntries(found.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function keysOf(target: string): Readonly<Record<string, unknown>> {
  const file = openGguf(target);
  file.close();
  return Object.fromEntries(file.metadata);
}

describe('SmolLM2-135M-Instruct written as GGUF', { tags: ['external'], timeout: 900_000 }, () => {
  it.for([
    ['F32', 'f32'],
    ['F16', 'f16'],
    ['BF16', 'bf16'],
    ['Q8_0', 'q8_0'],
  ] as const)('has the tensors and keys of llama.cpp as %s', async ([type, name], context) => {
    const [theirs, ours] = [await convert(name, context), await save(type)];
    expect(tensorsOf(ours)).toEqual(tensorsOf(theirs));
    const { 'general.name': _name, ...expected } = keysOf(theirs);
    expect(keysOf(ours)).toMatchObject(expected);
  });
});
