import { silentLogger, systemClock } from '@trinity-rft/core';
import { expect, it } from 'vitest';
import { answeredCalls } from '../../test/engine/support/answered-calls.js';
import { assembleEngine } from './assemble.js';
import type { Connection } from './http/connection.js';
import { createModel } from './remote/model.js';
import { deliverWeights } from './sample/weights.js';

/** Calls of a server that records which models are loaded. */
function recordingCalls() {
  const models = new Set<string>();
  let created = 0;
  const answers: Record<string, (body: Record<string, string>) => object> = {
    create_model: () => ({ model_id: [...models.add(`m${created++}`)].at(-1) }),
    save_weights: ({ model_id: id }) => ({ path: `tinker://${id}/weights/x` }),
    save_weights_for_sampler: () => ({ sampling_session_id: 's' }),
    load_weights: () => ({}),
    unload_model: ({ model_id: id }) => ({ done: models.delete(String(id)) }),
  };
  return { models, calls: answeredCalls(answers) };
}

it('a closed engine leaves no copy of its weights on a server that samples live weights', async () => {
  const { models, calls } = recordingCalls();
  const session = { id: 's', nextModel: () => 0, nextSampler: () => 0, close: () => undefined };
  const context = { calls, session, clock: systemClock, logger: silentLogger, placeMs: 0 };
  const connection = { send: () => Promise.resolve(undefined) } as unknown as Connection;
  const model = { baseModel: 'b', lora: { rank: 4 } };
  const delivery = deliverWeights({ context, connection, model, sampling: 'live' });
  const losses = new Set<string>();
  const traits = { losses, clips: true, forgets: false, sampling: 'live', normalisation: 'sum' };
  const engine = assembleEngine({
    ...{ context, connection, model, delivery, traits: traits as never },
    trained: { model: await createModel(context, model), step: 0 },
    modelPath: '',
    limits: { vocabSize: 8, maxModelLen: 8 },
    initialWeights: delivery.ofBase,
    reference: undefined,
    tokenBytes: undefined,
    ended: new AbortController(),
  });
  for (const version of [1, 2]) {
    await engine.trainer.publish(version);
    await engine.sampler.adopt({ kind: 'published' }, version);
  }
  await engine.trainer.publish(3);
  expect([...models]).toEqual(['m0', 'm2', 'm3']);
  await engine.close();
  expect([...models]).toEqual([]);
});
