/** Rollouts over a sampler that answers immediately. */
import { createRuntime, type Runtime } from '../../packages/core/src/index.ts';
import type { Sampler } from '../../packages/core/src/engine-seam.ts';
import {
  createRolloutModel,
  type EndpointServer,
  type RecordingModel,
} from '../../packages/model/src/index.ts';
import {
  createBodyThread,
  createEncoderThread,
  readBody,
} from '../../packages/model/src/internal.ts';
import type { TurnStore } from '../../packages/serve/src/index.ts';
import { answer, benchFormat } from './conversation.ts';

export interface Rollout {
  readonly baseURL: string;
  readonly apiKey: string;
  readonly model: RecordingModel;
  close(): void;
}

/**
 * Returns a function that opens a rollout on the server, with a model that always gives one answer.
 * @param turns receives every call before its client gets the answer
 */
export function rolloutMaker(
  server: EndpointServer,
  turns?: TurnStore,
  runtime: Runtime = createRuntime(),
): () => Rollout {
  const format = benchFormat();
  const sampler = instantSampler(format.tokenizer.encode(answer));
  const notices = new Set<string>();
  const [bodies, encoder] = [createBodyThread(), createEncoderThread(format.tokenizer.files)];
  const parseLongBody: typeof bodies.parse = (body) => bodies.parse(body);
  const encodeLongText: typeof encoder.encode = (text) => encoder.encode(text);
  return () => {
    const session = runtime.newId('rollout');
    const over = new AbortController();
    const { signal } = over;
    // Mounts the model in the same way as the server of mode `serve`.
    const mounted = server.mount({
      handler: async (request) =>
        model.answer(request, await readBody(request, { runtime, parseLongBody }, 'a request')),
      signal,
    });
    const model = createRolloutModel({
      sampler,
      format,
      modelPath: 'bench',
      seedFor: (call) => call,
      runtime,
      notices,
      mounted,
      signal,
      encodeLongText,
      ...(turns && {
        onAnswer: ({ id, experiences }) => turns.record({ msgId: id, session, experiences }),
      }),
    });
    return {
      baseURL: mounted.baseURL,
      apiKey: mounted.apiKey,
      model,
      close: () => over.abort('over'),
    };
  };
}

function instantSampler(tokens: Int32Array): Sampler {
  const logprobs = new Float32Array(tokens.length).fill(-0.25);
  return {
    maxModelLen: 32_768,
    policyVersion: 0,
    sample: () =>
      Promise.resolve([
        {
          tokens: tokens.slice(),
          logprobs: logprobs.slice(),
          stopReason: 'stop',
          policyVersion: 0,
        },
      ]),
    adopt: () => Promise.resolve(),
  };
}
