/** Tests runs that name their model by its hub id, against a small local hub. */
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fetchHubModel, findCachedModel } from '@trinity-rft/buffer/internal';
import { planConfig } from '@trinity-rft/config';
import { systemClock } from '@trinity-rft/core';
import { convertModel } from '@trinity-rft/engine-onnx';
import { exportModel } from '@trinity-rft/export';
import { checkFiles, checkResume, planDownloads, readConfiguration } from '@trinity-rft/launcher';
import { findModel } from '@trinity-rft/local';
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { commit, startModelHub, type AnswerInstead } from './support/model-hub.js';
import { runHere } from './support/run-here.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

const id = 'owner/tiny';
const weights = 'model.safetensors';
const ggufFile = new URL(
  '../../../packages/engine-onnx/test/fixtures/llama/model.gguf',
  import.meta.url,
).pathname;

let workspace: Workspace;
let cache: string;
beforeAll(async () => {
  workspace = await createWorkspace();
});
beforeEach(() => {
  cache = mkdtempSync(path.join(tmpdir(), 'trinity-hub-'));
});
afterEach(() => {
  rmSync(cache, { recursive: true, force: true });
});

const snapshot = (): string => path.join(cache, 'models--owner--tiny/snapshots', commit);
const configOf = (name: string, model: Tree = {}, buffer: Tree = { total_steps: 1 }): string =>
  workspace.config(`${name}.yaml`, {
    name,
    model: { model_path: id, ...model },
    buffer,
  });
const modelFile = (name: string): Buffer => readFileSync(path.join(workspace.root, 'model', name));

async function openHub(answerInstead?: AnswerInstead) {
  const hub = await startModelHub(id, path.join(workspace.root, 'model'), answerInstead);
  onTestFinished(() => hub.close());
  return hub;
}

const runWith = (url: string, configPath: string, env: Record<string, string> = {}) =>
  runHere(workspace, configPath, { env: { HF_ENDPOINT: url, HF_HUB_CACHE: cache, ...env } });

const quiet = { clock: systemClock, report: (): void => undefined };

async function goneHub(): Promise<string> {
  const hub = await startModelHub(id, path.join(workspace.root, 'model'));
  await hub.close();
  return hub.url;
}

const partSizes = (): readonly number[] =>
  readdirSync(snapshot())
    .filter((file) => file.endsWith('.incomplete'))
    .map((file) => statSync(path.join(snapshot(), file)).size);

/** Cuts the download of the weights off once, in the middle; afterwards answers with `status`, or as the hub does. */
function cutOnce(status?: number): AnswerInstead {
  let isCut = false;
  return (request, response, content) => {
    if (request.url?.endsWith(weights) !== true || !content) return false;
    if (isCut) {
      if (status === undefined) return false;
      response.writeHead(status).end();
      return true;
    }
    isCut = true;
    response.writeHead(200, { 'content-length': content.length });
    response.write(content.subarray(0, 1000));
    void vi
      .waitUntil(() => partSizes().includes(1000), { timeout: 60_000 })
      .finally(() => response.destroy());
    return true;
  };
}

describe('a model of the hub', () => {
  it('is fetched with progress, trained, and from then on read from the cache', async () => {
    const hub = await openHub();
    const file = configOf('first');
    const { summary, error, output } = await runWith(hub.url, file, {
      HF_TOKEN: 'hf_secretsecret',
    });
    expect(error).toBeUndefined();
    expect(summary?.trainStep).toBe(1);
    expect(output).toContain(`Fetching ${id}: `);
    expect(output).toMatch(/model\.safetensors: .* \(100 %\)/);
    expect(output).not.toContain('hf_secretsecret');
    expect(readFileSync(path.join(snapshot(), weights))).toEqual(modelFile(weights));
    expect(existsSync(path.join(snapshot(), 'README.md'))).toBe(false);

    const longer = configOf('first', {}, { total_steps: 2 });
    const offline = await runWith(await goneHub(), longer, { HF_HUB_OFFLINE: '1' });
    expect(offline.error).toBeUndefined();
    expect(offline.summary?.trainStep).toBe(2);
    expect(offline.output).not.toContain('Fetching');
    expect(offline.output).not.toContain('model.');
  });

  it('continues where it was cut off, in the same run', async () => {
    const hub = await openHub(cutOnce());
    const { summary } = await runWith(hub.url, configOf('cut'));
    expect(summary?.trainStep).toBe(1);
    expect(hub.requests.join()).toContain(`${weights} bytes=1000-`);
    expect(readFileSync(path.join(snapshot(), weights))).toEqual(modelFile(weights));
  });

  it('continues where it was cut off, in the next run', async () => {
    const hub = await openHub(cutOnce(403));
    const { error } = await runWith(hub.url, configOf('cut-twice'));
    expect(error?.message).toContain('answered 403');
    expect(partSizes()).toEqual([1000]);
    expect(existsSync(path.join(snapshot(), weights))).toBe(false);

    const whole = await openHub();
    const { summary } = await runWith(whole.url, configOf('cut-twice'));
    expect(summary?.trainStep).toBe(1);
    expect(whole.requests.join()).toContain(`${weights} bytes=1000-`);
    expect(readFileSync(path.join(snapshot(), weights))).toEqual(modelFile(weights));
    expect(partSizes()).toEqual([]);
  });

  it('is planned with its download and its memory, without the download', async () => {
    const hub = await openHub();
    const { loaded } = await readConfiguration({
      configPath: configOf('plan'),
      cwd: workspace.root,
      pluginDirs: ['plugins'],
    });
    const env = { HF_ENDPOINT: hub.url, HF_HUB_CACHE: cache };
    const { config, lines } = await planDownloads(loaded.config, { env, ...quiet });
    expect(lines.join()).toMatch(
      /owner\/tiny is not in the cache: a run first fetches [\d.]+ kB \(\d files\)/,
    );
    expect(planConfig(config).stages[0]?.memory?.weights).toBeGreaterThan(0);
    expect(readdirSync(snapshot())).toEqual(['config.json']);

    const nowhere = { HF_ENDPOINT: await goneHub(), HF_HUB_CACHE: path.join(cache, 'empty') };
    const unknown = await planDownloads(loaded.config, { env: nowhere, ...quiet });
    expect(unknown.lines.join()).toMatch(
      /size and memory of owner\/tiny are unknown: .*ECONNREFUSED/,
    );
  });

  it('gets adapters on the layers that it has and exclude_modules does not name', async () => {
    const folder = path.join(workspace.root, 'phi');
    cpSync(path.join(workspace.root, 'model'), folder, { recursive: true });
    const config = readFileSync(path.join(folder, 'config.json'), 'utf8');
    writeFileSync(
      path.join(folder, 'config.json'),
      config.replace(/"model_type": *"\w+"/, '"model_type": "phi3"'),
    );
    const hub = await startModelHub(id, folder);
    onTestFinished(() => hub.close());
    const planned = async (model_path: string) => {
      const { loaded } = await readConfiguration({
        configPath: configOf('phi', { model_path, lora_configs: [{ exclude_modules: 'o_proj' }] }),
        cwd: workspace.root,
        pluginDirs: ['plugins'],
      });
      const env = { HF_ENDPOINT: hub.url, HF_HUB_CACHE: cache };
      return (await planDownloads(loaded.config, { env, ...quiet })).config.stages[0].model.lora;
    };
    expect(await planned(id)).toMatchObject({
      targetModules: ['qkv_proj', 'gate_up_proj', 'down_proj'],
    });
    expect(await planned(id)).toEqual(await planned('phi'));
  });

  it('needs a layer that exclude_modules does not name', async () => {
    const hub = await openHub();
    const exclude_modules = 'q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj'.split(',');
    const { error } = await runWith(
      hub.url,
      configOf('none', { lora_configs: [{ exclude_modules }] }),
    );
    expect(error?.message).toMatch(
      /none\.yaml:\d+:\d+ model\.lora_configs\[0\]\.exclude_modules: excludes every layer of owner\/tiny\./,
    );
  });

  it('is no change of a run that has begun, in the cache or not', async () => {
    const hub = await openHub();
    const auxiliary: Tree = {
      name: 'checked',
      explorer: { auxiliary_models: [{ name: 'judge', model_path: id }] },
      buffer: { total_steps: 1 },
    };
    const configPath = workspace.config('checked.yaml', auxiliary, {
      model: { model_path: id, lora_configs: [{ exclude_modules: 'o_proj' }] },
    });
    expect((await runWith(hub.url, configPath)).error).toBeUndefined();
    const env = { HF_HUB_CACHE: cache };
    const { signal } = new AbortController();
    const changesOf = async (file: string): Promise<readonly string[]> => {
      const read = { configPath: file, cwd: workspace.root, pluginDirs: ['plugins'] };
      const { loaded, ...extensions } = await readConfiguration(read);
      await extensions.environments.close();
      const { digests } = await checkFiles(loaded, extensions, { env, signal });
      const lines = await checkResume(loaded, extensions, { digests, env });
      return lines.filter((line) => !line.startsWith('plugins'));
    };
    expect(await changesOf(configPath)).toEqual([]);
    rmSync(cache, { recursive: true });
    expect(await changesOf(configPath)).toEqual([]);
    const other = workspace.config('other.yaml', auxiliary, { model: { model_path: 'owner/big' } });
    await expect(changesOf(other)).rejects.toThrow(/model\.model_path: changed from/);
  });

  it('is fetched once by two runs that begin at the same time', async () => {
    const hub = await openHub();
    const [one, other] = await Promise.all(
      ['one', 'other'].map((name) => runWith(hub.url, configOf(name))),
    );
    expect([one?.error, other?.error]).toEqual([undefined, undefined]);
    expect(hub.requests.filter((path) => path.endsWith(weights))).toHaveLength(1);
    expect(readFileSync(path.join(snapshot(), weights))).toEqual(modelFile(weights));
  });

  it('may lie in several files of weights, or be a GGUF file of several', async () => {
    const folder = path.join(workspace.root, 'sharded');
    const from = path.join(workspace.root, 'model');
    const { files } = await convertModel({ from, to: folder, shardBytes: 20_000 });
    expect(files.length).toBeGreaterThan(1);
    copyFileSync(ggufFile, path.join(folder, 'one-q8_0.gguf'));
    writeFileSync(path.join(folder, 'other.gguf'), 'not fetched');
    const hub = await startModelHub(id, folder);
    onTestFinished(() => hub.close());
    const sharded = await runWith(hub.url, configOf('sharded'));
    expect(sharded.error).toBeUndefined();
    expect(readdirSync(snapshot())).toEqual(expect.arrayContaining([...files]));

    const options = { environment: { HF_ENDPOINT: hub.url, HF_HUB_CACHE: cache } };
    const fetched = await fetchHubModel(`${id}/one-q8_0.gguf`, { ...options, ...quiet });
    expect(readFileSync(fetched)).toEqual(readFileSync(ggufFile));
    expect(existsSync(path.join(snapshot(), 'other.gguf'))).toBe(false);
    expect(findCachedModel(`${id}/one-q8_0.gguf`, options)).toBe(fetched);
    expect(findCachedModel(id, options)).toBe(snapshot());
  });

  it('keeps the quantised weights of a GGUF file in every stage, which no other program samples', async () => {
    const model = await findModel(path.join(workspace.root, 'model'));
    const directory = path.join(workspace.root, 'gguf');
    await exportModel({ model, directory, format: 'gguf', quantize: 'Q8_0', name: 'tiny' });
    const hub = await startModelHub(id, directory);
    onTestFinished(() => hub.close());
    const env = { HF_ENDPOINT: hub.url, HF_HUB_CACHE: cache };
    await fetchHubModel(`${id}/tiny-Q8_0.gguf`, { environment: env, ...quiet });
    const planned = async (name: string, first: Tree, explorer: Tree = {}) => {
      const configPath = workspace.config(`${name}.yaml`, {
        name,
        model: { model_path: `${id}/tiny-Q8_0.gguf`, lora_configs: [{ lora_rank: 2 }] },
        explorer,
        buffer: { total_steps: 1 },
        stages: [{ stage_name: 'first', model: first }, { stage_name: 'second' }],
      });
      const given = { configPath, cwd: workspace.root, pluginDirs: ['plugins'] };
      const { loaded, ...extensions } = await readConfiguration(given);
      const { signal } = new AbortController();
      await checkFiles(loaded, extensions, { signal, env });
      const { config } = await planDownloads(loaded.config, { env, ...quiet });
      return planConfig(config).stages.map(({ memory }) => memory?.weights);
    };
    const [integers, floats] = await Promise.all([
      planned('integers', {}),
      planned('floats', { quantization: 'none' }),
    ]);
    expect([integers[1], floats[1]]).toEqual([integers[0], floats[0]]);
    expect(floats[0]).toBeGreaterThan(integers[0]!);
    const rollout_model = { engine_type: 'vllm', base_url: 'http://127.0.0.1:9' };
    await expect(planned('elsewhere', {}, { rollout_model })).rejects.toThrow(
      /elsewhere\.yaml:\d+:\d+ model\.model_path: got .*another program samples.*Set model\.quantization: none/s,
    );
    await planned('merged', { quantization: 'none' }, { rollout_model });
  });

  it('is not begun where the disk has no room for it', async () => {
    const hub = await startModelHub(id, path.join(workspace.root, 'model'), (request, response) => {
      if (request.url?.includes('/tree/') !== true) return false;
      const size = 2 ** 52;
      const oid = 'f'.repeat(64);
      const huge = { oid: 'x', lfs: { oid, size, pointerSize: 130 } };
      const entries = ['config.json', 'tokenizer.json', weights].map((path) => ({
        type: 'file',
        path,
        size,
        ...huge,
      }));
      response.setHeader('content-type', 'application/json').end(JSON.stringify(entries));
      return true;
    });
    onTestFinished(() => hub.close());
    const { error } = await runWith(hub.url, configOf('huge'));
    expect(error?.message).toMatch(/owner\/tiny needs .* TB, and the disk of .* left\. Free some/);
    expect(hub.requests.join()).not.toContain('/resolve/');
  });

  it('is checked as a folder once it is in the cache', async () => {
    const hub = await openHub();
    await runWith(hub.url, configOf('fetched'));
    const configPath = configOf('long', { max_prompt_tokens: 100 });
    const { loaded, ...extensions } = await readConfiguration({
      configPath,
      cwd: workspace.root,
      pluginDirs: ['plugins'],
    });
    const { signal } = new AbortController();
    const env = { HF_HUB_CACHE: cache };
    await expect(checkFiles(loaded, extensions, { signal, env })).rejects.toThrow(
      /long\.yaml:\d+:\d+ model\.model_path: .*only 64 positions/,
    );
  });
});

describe('a model that cannot be fetched', () => {
  it.each([
    ['is unknown', 404, ['check the name', 'HF_TOKEN', 'not set']],
    ['needs a token', 401, ['private or gated', 'HF_TOKEN', 'not set']],
  ] as const)('says so when it %s', async (_name, status, parts) => {
    const hub = await openHub((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end('{"error":"No"}');
      return true;
    });
    const { error } = await runWith(hub.url, configOf('refused'));
    for (const part of ['refused.yaml:', 'model.model_path', id, hub.url, cache, ...parts])
      expect(error?.message).toContain(part);
  });

  it('is not used when its digest is wrong', async () => {
    const hub = await openHub((request, response, content) => {
      if (request.url?.endsWith(weights) !== true || !content) return false;
      const flipped = Buffer.from(content);
      flipped[flipped.length - 1]! ^= 1;
      response.end(flipped);
      return true;
    });
    const { error } = await runWith(hub.url, configOf('flipped'));
    expect(error?.message).toMatch(/model\.safetensors arrived with another digest \(sha256\)/);
    expect(readdirSync(snapshot()).filter((file) => file.startsWith(weights))).toEqual([]);
  });

  it('names a hub that is not there, and one that falls silent', async () => {
    const gone = await goneHub();
    const { error } = await runWith(gone, configOf('gone'));
    for (const part of [id, gone, 'ECONNREFUSED', 'HF_ENDPOINT', 'gone.yaml:'])
      expect(error?.message).toContain(part);
    const silent = await openHub(() => true);
    const { loaded } = await readConfiguration({
      configPath: configOf('silent'),
      cwd: workspace.root,
      pluginDirs: ['plugins'],
    });
    const env = { HF_ENDPOINT: silent.url, HF_HUB_CACHE: cache };
    const { lines } = await planDownloads(loaded.config, { env, ...quiet, stallMs: 200 });
    expect(lines.join()).toContain(`Nothing came from ${silent.url} for 0.2 s`);
  });

  it('must be named by owner and name', async () => {
    const { error } = await runWith(
      await goneHub(),
      configOf('short', { model_path: 'tiny-typo' }),
    );
    expect(error?.message).toMatch(/model\.model_path.*"tiny-typo".*owner\/name/);
  });
});
