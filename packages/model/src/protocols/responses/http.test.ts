import { createRuntime } from '@trinity-rft/core';
import { scriptedSampler } from '@trinity-rft/testing';
import { OpenAI, type APIUserAbortError } from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encode, modelOver, scripted } from '../../../test/helpers.js';
import { add, call } from '../../../test/responses.js';
import { openEndpointServer, type EndpointServer } from '../../http/server.js';
import type { RecordingModel } from '../../recording-model.js';

let server: EndpointServer;
beforeEach(async () => {
  server = await openEndpointServer({ runtime: createRuntime() });
});
afterEach(() => server.close());

function overHttp(model: RecordingModel): OpenAI {
  const { baseURL, apiKey } = server.mount({ handler: model.answer });
  return new OpenAI({ baseURL, apiKey, maxRetries: 0 });
}

/**
 * Makes three turns, each of which continues the previous one by its id; returns the last answer.
 */
async function loop({ responses }: OpenAI, stream: boolean): Promise<string> {
  let previous:
    | { readonly id: string; readonly output: readonly object[]; readonly output_text: string }
    | undefined;
  for (;;) {
    const calls = previous?.output.filter((item) => 'call_id' in item) ?? [];
    if (previous && calls.length === 0) return previous.output_text;
    const answers = calls.map((item) => ({
      type: 'function_call_output',
      call_id: 'call_id' in item ? item.call_id : '',
      output: 'ok',
    }));
    const input = (previous ? answers : 'hi') as never;
    const body = {
      model: 'any',
      tools: [add],
      input,
      ...(previous && { previous_response_id: previous.id }),
    };
    previous = stream ? await responses.stream(body).finalResponse() : await responses.create(body);
  }
}

describe('the Responses API over HTTP', () => {
  it('keeps runs apart that use the same ids at the same time', async () => {
    const runs = Array.from({ length: 8 }, (_, i) => {
      const texts = [
        `so\n${call(`{"a":${i}.0}`)}<|im_end|>`,
        `<think>${i}</think>${call('{}')}\n${call('{}')}<|im_end|>`,
        `fin ${i}<|im_end|>`,
      ];
      return scripted(texts).model;
    });
    expect(await Promise.all(runs.map((run, i) => loop(overHttp(run), i % 2 === 0)))).toEqual(
      runs.map((_, i) => `fin ${i}`),
    );
    for (const run of runs) {
      expect(run.metrics()).toMatchObject({ 'model/calls': 3, 'model/spliced': 2 });
      expect(run.extractExperiencesFromHistory()).toHaveLength(3);
    }
  });

  it('ends the generation of a client that disconnects, and the conversation can go on', async () => {
    const started = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const inner = scriptedSampler({ script: ['a<|im_end|>', 'b<|im_end|>'].map(encode) });
    let calls = 0;
    const model = modelOver({
      ...inner,
      policyVersion: 0,
      sample: (prompt, options, signal) => {
        if (calls++ !== 1) return inner.sample(prompt, options, signal);
        started.resolve();
        return new Promise((_, reject) => {
          signal!.addEventListener(
            'abort',
            () => (ended.resolve(), reject(signal!.reason as Error)),
            { once: true },
          );
        });
      },
    });
    const { responses } = overHttp(model);
    const { id } = await responses.create({ model: 'any', input: 'hi' });
    const controller = new AbortController();
    const body = { model: 'any', input: 'on', previous_response_id: id };
    const given = responses
      .create(body, { signal: controller.signal })
      .catch((error: APIUserAbortError) => error.name);
    await started.promise;
    controller.abort();
    await ended.promise;
    await given;
    expect((await responses.create(body)).output_text).toBe('b');
    expect(model.extractExperiencesFromHistory()).toHaveLength(2);
    expect(model.metrics()).toMatchObject({ 'model/calls': 2, 'model/spliced': 1 });
  });
});
