import { CancelledError } from '@trinity-rft/core';
import type { Sampler } from '@trinity-rft/core/engine';
import { scriptedSampler } from '@trinity-rft/testing';
import { APIUserAbortError, BadRequestError, ConflictError, InternalServerError } from 'openai';
import { describe, expect, it } from 'vitest';
import { modelOver, scripted } from '../../test/helpers.js';

const base = { model: 'gpt-5', messages: [{ role: 'user' as const, content: 'hi' }] };

const post = (body: unknown, path = '/r/7/v1/chat/completions'): Request =>
  new Request(`http://host${path}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

describe('refusals', () => {
  const image = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }];

  it.each([
    ['messages', { messages: [] }],
    ['messages', { messages: 'hi' }],
    ['messages[0].content[0].type', { messages: image }],
    ['tools[0].type', { tools: [{ type: 'web_search' }] }],
    ['tools[0].function.name', { tools: [{ type: 'function' }] }],
    ['functions', { functions: [{ name: 'f' }] }],
    ['audio', { audio: { voice: 'x' } }],
    ['modalities', { modalities: ['text', 'audio'] }],
    ['web_search_options', { web_search_options: {} }],
    ['response_format.type', { response_format: { type: 'grammar' } }],
    [
      'response_format.json_schema.schema',
      { response_format: { type: 'json_schema', json_schema: { schema: 'x' } } },
    ],
    ['n', { n: 1.5 }],
    ['max_tokens', { max_tokens: 0 }],
    ['temperature', { temperature: 'hot' }],
    ['stop[0]', { stop: [''] }],
  ])('name %s', async (param, change) => {
    const { model } = scripted([]);
    const response = await model.handler(post({ ...base, ...change }));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: {
        type: 'invalid_request_error',
        param,
        message: expect.stringContaining(param) as string,
      },
    });
  });

  it.each([
    [400, post('{'), 'invalid_json'],
    [400, post('[]'), 'invalid_request'],
    [404, post(base, '/v1/embeddings'), 'not_found'],
    [405, new Request('http://host/v1/chat/completions'), 'method_not_allowed'],
  ])('answer %i', async (status, request, code) => {
    const response = await scripted([]).model.handler(request);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { code } });
  });

  it('are the errors that users of the client know', async () => {
    const { model } = scripted([], { limits: { maxPromptTokens: 1 } });
    const failure = await model
      .openaiClient()
      .chat.completions.create(base)
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(BadRequestError);
    expect(failure).toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
      param: 'messages',
    });
  });

  it('tell a fault of the engine from a fault of the client', async () => {
    const model = modelOver(scriptedSampler({ script: [new Error('the worker died')] }));
    const failure = await model
      .openaiClient()
      .chat.completions.create(base)
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(InternalServerError);
    expect(failure).toMatchObject({
      message: expect.stringContaining('the worker died') as string,
    });
  });
});

describe('a fault of the server', () => {
  const fault = new Error('/srv/calls.db cannot be written: ENOSPC.');
  it.each(['/v1/chat/completions', '/v1/messages'])(
    'of %s goes to the owner, and not to the client',
    async (path) => {
      const faults: unknown[] = [];
      const onAnswer = (): never => {
        throw fault;
      };
      const { model } = scripted(['a<|im_end|>', 'b<|im_end|>'], {
        onAnswer,
        onFault: (error) => void faults.push(error),
        streamText: 'sampled',
      });
      const body = { ...base, max_tokens: 9 };
      const whole = await model.handler(post(body, path));
      const stream = await model.handler(post({ ...body, stream: true }, path));
      expect([whole.status, stream.status]).toEqual([500, 200]);
      for (const text of [await whole.text(), await stream.text()]) {
        expect(text).toContain('The server failed to answer. Its log has the cause.');
        expect(text).not.toContain('/srv');
      }
      expect(faults).toEqual([fault, fault]);
    },
  );
});

describe('cancelling', () => {
  /** A sampler that only ends when it is aborted. */
  function hanging(): { readonly sampler: Sampler; readonly started: Promise<void> } {
    const { promise: started, resolve } = Promise.withResolvers<void>();
    const inner = scriptedSampler({ script: [] });
    const sample: Sampler['sample'] = (_, __, signal) => {
      resolve();
      return new Promise((___, reject) => {
        signal!.addEventListener(
          'abort',
          () => reject(new CancelledError('Aborted.', { reason: 'aborted' })),
          { once: true },
        );
      });
    };
    return { sampler: { ...inner, policyVersion: 0, sample }, started };
  }

  it('by the client ends the generation and records nothing', async () => {
    const { sampler, started } = hanging();
    const model = modelOver(sampler);
    const controller = new AbortController();
    const completion = model
      .openaiClient()
      .chat.completions.create(base, { signal: controller.signal });
    await started;
    controller.abort();
    await expect(completion).rejects.toBeInstanceOf(APIUserAbortError);
    expect(model.extractExperiencesFromHistory()).toEqual([]);
  });

  it('by the rollout is a conflict, now and for later calls', async () => {
    const { sampler, started } = hanging();
    const controller = new AbortController();
    const model = modelOver(sampler, { signal: controller.signal });
    const completion = model.openaiClient().chat.completions.create(base);
    await started;
    controller.abort();
    await expect(completion).rejects.toBeInstanceOf(ConflictError);
    await expect(model.openaiClient().chat.completions.create(base)).rejects.toBeInstanceOf(
      ConflictError,
    );
  });
});
