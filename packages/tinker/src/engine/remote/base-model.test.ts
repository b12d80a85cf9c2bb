import { silentLogger } from '@trinity-rft/core';
import { expect, it } from 'vitest';
import { chooseBaseModel, type WantedModel } from './base-model.js';
import type { Calls } from './calls.js';

/** Chooses from the models of a server. */
async function choose(models: readonly string[], wanted: Partial<WantedModel>): Promise<string> {
  const supported_models = models.map((model_name) => ({ model_name }));
  const calls = { get: () => Promise.resolve({ supported_models }) } as unknown as Calls;
  const none = { recorded: undefined, set: undefined, hubId: undefined };
  return (await chooseBaseModel(calls, { ...none, ...wanted }, silentLogger)).name;
}

it('a model is trained by the name in its checkpoint, the name that was set, or its hub id', async () => {
  expect(await choose(['a', 'b', 'c'], { recorded: 'c', set: 'b', hubId: 'a' })).toBe('c');
  expect(await choose(['a', 'b', 'c'], { set: 'b', hubId: 'a' })).toBe('b');
  expect(await choose(['a', 'b', 'c'], { hubId: 'a' })).toBe('a');
});

it('the only model of a server may have another name than the hub id, and no other', async () => {
  expect(await choose(['/models/a'], {})).toBe('/models/a');
  expect(await choose(['/models/a'], { hubId: 'a' })).toBe('/models/a');
  await expect(choose(['/models/a'], { set: 'a' })).rejects.toThrow(
    'The Tinker server has no model a. Set model.tinker.base_model to one of /models/a.',
  );
  await expect(choose(['/models/a'], { recorded: 'a' })).rejects.toThrow(
    'The Tinker server has no model a. The checkpoint was trained from it: use a server that has it instead of /models/a.',
  );
  await expect(choose(['a', 'b'], {})).rejects.toThrow(
    'Set model.tinker.base_model to one of a, b.',
  );
  for (const wanted of [{ set: 'a' }, { recorded: 'a' }])
    await expect(choose([], wanted)).rejects.toThrow(
      'The Tinker server has no model a. It lists no models: start it with the model to train.',
    );
});
