import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { EngineError, silentLogger, systemClock } from '@trinity-rft/core';
import { recordingLogger } from '@trinity-rft/testing';
import { expect, it, onTestFinished } from 'vitest';
import { answeredCalls } from '../../../test/engine/support/answered-calls.js';
import type { Connection } from '../http/connection.js';
import type { Calls } from '../remote/calls.js';
import { createModel, type ModelContext, type RemoteModel } from '../remote/model.js';
import { createCheckpoints, findWeights } from './checkpoints.js';

const notFound = (): EngineError => new EngineError('Not found.', { details: { status: 404 } });

/** Calls of a server that deletes what a model has saved when the model is unloaded. */
function forgetfulServer() {
  const models: string[] = [];
  const saved = new Set<string>();
  const answers: Record<string, (body: Record<string, string>) => object> = {
    create_model: () => ({ model_id: models[models.push(`m${models.length}`) - 1] }),
    weights_info: ({ tinker_path: address }) => find(address),
    load_weights: ({ path: address }) => find(address),
    unload_model: ({ model_id: id }) => {
      models.splice(models.indexOf(String(id)), 1);
      for (const address of saved) if (address.startsWith(`tinker://${id}/`)) saved.delete(address);
      return {};
    },
    save_weights: ({ model_id: id, path: name }) => save(`tinker://${id}/weights/${name}`),
    save_weights_for_sampler: ({ model_id: id, path: name }) =>
      save(`tinker://${id}/sampler_weights/${name}`),
  };
  const save = (address: string) => ({ path: [...saved.add(address)].at(-1) });
  const find = (address: unknown) => {
    if (saved.has(String(address))) return {};
    throw notFound();
  };
  return { models, calls: answeredCalls(answers) };
}

/** Checkpoints of a forgetful server, whose archives are answered by `send`. */
async function openCheckpoints(send: Connection['send'], logger = silentLogger) {
  const root = mkdtempSync(path.join(tmpdir(), 'trinity-checkpoints-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const [modelPath, directory] = [path.join(root, 'model'), path.join(root, 'checkpoint')];
  mkdirSync(modelPath);
  writeFileSync(path.join(root, 'blob'), '{"vocab_size": 16}');
  // Folders of the Hugging Face cache contain links.
  symlinkSync(path.join(root, 'blob'), path.join(modelPath, 'config.json'));
  const { models, calls } = forgetfulServer();
  const session = { id: 's', nextModel: () => 0, nextSampler: () => 0, close: () => undefined };
  const more = { clock: systemClock, logger, placeMs: 0 };
  const context: ModelContext = { calls, session, ...more };
  const model = { baseModel: 'b', lora: { rank: 4 } };
  const trained = { model: await createModel(context, model), step: 0 };
  const connection = { send } as unknown as Connection;
  const options = { context, connection, model, trained, modelPath, forgets: true };
  return { ...createCheckpoints(options), directory, models };
}

it('a checkpoint of the initial weights can be loaded from a server that forgets', async () => {
  const { save, load, directory, models } = await openCheckpoints(() => Promise.reject(notFound()));
  await save(directory, { optimizer: true });
  expect(readFileSync(path.join(directory, 'config.json'), 'utf8')).toContain('16');
  await load(directory);
  expect(models).toEqual(['m0', 'm1']);
  // The second model has saved nothing.
  await load(directory);
  expect(models).toHaveLength(2);
});

it('a checkpoint whose adapter lies on another machine is saved without it', async () => {
  const logger = recordingLogger();
  const answer = { status: 302, contentType: '', bytes: new Uint8Array() };
  const send = () => Promise.resolve({ ...answer, location: 'file:///nowhere/step' });
  const { save, load, directory } = await openCheckpoints(send, logger);
  await save(directory, { optimizer: true });
  expect(readdirSync(directory).toSorted()).toEqual(['config.json', 'tinker.json']);
  expect(logger.messages().join()).toMatch(/nowhere.*cannot be read.*say where theirs lie there/);
  await load(directory);
});

it.each([
  ['a damaged archive', { status: 200, bytes: Uint8Array.of(31, 139, 8, 0) }],
  ['a folder that cannot be copied', { status: 302, bytes: new Uint8Array() }],
])('an adapter in %s fails the save', async (_, answer) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'trinity-adapter-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  // A folder in place of a file can be read, and not be copied.
  mkdirSync(path.join(folder, 'adapter', 'adapter_config.json'), { recursive: true });
  const found = { ...answer, contentType: '', location: pathToFileURL(folder).href };
  const { save, directory } = await openCheckpoints(() => Promise.resolve(found));
  await expect(save(directory, { optimizer: true })).rejects.toMatchObject({
    code: 'TINKER_ARCHIVE',
  });
  expect(readdirSync(directory)).not.toContain('tinker.json');
});

/** Creates the error for a status; undefined where the server does as it is asked. */
const refusal = (status: number | undefined): EngineError | undefined =>
  status === undefined
    ? undefined
    : new EngineError('Refused.', { code: `ANSWER_${status}`, details: { status } });

it.each([
  [404, undefined, 'CHECKPOINT_LOST'],
  [500, 404, 'CHECKPOINT_LOST'],
  [500, 500, 'CHECKPOINT_LOST'],
  [500, 503, 'ANSWER_503'],
  [401, undefined, 'ANSWER_401'],
  [undefined, 400, 'ANSWER_400'],
  [undefined, 500, 'ANSWER_500'],
])('weights that are found with %s and loaded with %s: %s', async (found, loaded, code) => {
  const settle = async (status: number | undefined): Promise<void> => {
    const error = refusal(status);
    if (error) throw error;
  };
  const calls = { ask: () => settle(found) } as unknown as Calls;
  const model = { load: () => settle(loaded) } as unknown as RemoteModel;
  const weights = { base_model: 'b', lora_rank: 4, weights: 'tinker://m/weights/x', sampler: '' };
  const record = { version: 1, ...weights, step: 1, optimizer: true } as const;
  const loading = findWeights(calls, record, 'checkpoint').then((load) => load(model, true));
  await expect(loading).rejects.toMatchObject({ code });
});
