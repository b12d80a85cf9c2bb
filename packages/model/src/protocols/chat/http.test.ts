import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { createRuntime, CancelledError } from '@trinity-rft/core';
import type { Sampler } from '@trinity-rft/core/engine';
import { scriptedSampler } from '@trinity-rft/testing';
import { OpenAI } from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { encode, modelOver } from '../../../test/helpers.js';
import { openEndpointServer, type EndpointMount, type EndpointServer } from '../../http/server.js';
import type { RecordingModel, RolloutModelOptions } from '../../recording-model.js';

const runtime = createRuntime();
const messages = [{ role: 'user' as const, content: 'hi' }];
const base = { model: 'gpt-5', messages };
const servers: EndpointServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

interface Served {
  readonly model: RecordingModel;
  readonly mount: EndpointMount;
  client(options?: { readonly timeout?: number; readonly maxRetries?: number }): OpenAI;
}

async function serve(
  sampler: Sampler,
  options: Partial<RolloutModelOptions> = {},
): Promise<Served> {
  const server = await openEndpointServer({ runtime });
  servers.push(server);
  const model = modelOver(sampler, { runtime, ...options });
  const mount = server.mount({ handler: model.answer });
  const { baseURL, apiKey } = mount;
  return {
    model,
    mount,
    client: (more) => new OpenAI({ baseURL, apiKey, maxRetries: 0, ...more }),
  };
}

/** Sampler that answers after `ms` milliseconds, and counts the calls that were aborted before. */
function taking(
  ms: number,
  texts: readonly string[],
): Sampler & { readonly aborted: () => number } {
  const inner = scriptedSampler({ script: texts.map(encode) });
  let aborted = 0;
  return {
    ...inner,
    policyVersion: 0,
    aborted: () => aborted,
    sample: async (prompt, options, signal) => {
      await wait(ms, undefined, signal && { signal }).catch((cause: unknown) => {
        aborted++;
        throw new CancelledError('Aborted.', { reason: 'aborted', cause });
      });
      return inner.sample(prompt, options, signal);
    },
  };
}

const recorded = (model: RecordingModel): number =>
  model.extractExperiencesFromHistory({ clear: false }).length;

describe('over a socket', () => {
  it.each([false, true])('heartbeats keep a client that waits (streamed: %s)', async (stream) => {
    const { model, client } = await serve(taking(120, ['four<|im_end|>']), {
      heartbeat: { afterMs: 10, everyMs: 10 },
    });
    const asked = client().chat.completions;
    let text = '';
    if (stream)
      for await (const { choices } of await asked.create({ ...base, stream }))
        text += choices[0]!.delta.content ?? '';
    else text = (await asked.create(base)).choices[0]!.message.content ?? '';
    expect(text).toBe('four');
    expect(recorded(model)).toBe(1);
  });

  it('a client that gives up ends its generation, and its repetition is the only record', async () => {
    const slow = taking(60_000, []);
    const quick = scriptedSampler({ script: [encode('four<|im_end|>')] });
    let calls = 0;
    const sampler: Sampler = {
      ...quick,
      policyVersion: 0,
      sample: (...args) => (calls++ === 0 ? slow : quick).sample(...args),
    };
    const { model, client } = await serve(sampler);
    const completion = await client({ timeout: 2000, maxRetries: 5 }).chat.completions.create(base);
    expect(completion.choices[0]!.message.content).toBe('four');
    await expect.poll(slow.aborted).toBe(1);
    expect(calls).toBe(2);
    expect(recorded(model)).toBe(1);
  });

  it('a client that repeats after faults leaves one record', async () => {
    const { model, client } = await serve(
      scriptedSampler({ script: [new Error('x'), new Error('x'), encode('four<|im_end|>')] }),
    );
    await client({ maxRetries: 2 }).chat.completions.create(base);
    expect(recorded(model)).toBe(1);
  });

  it('takes bodies of more than a megabyte', async () => {
    const sampler = scriptedSampler({ script: [encode('four<|im_end|>')], maxModelLen: 2_000_000 });
    const { model, client } = await serve(sampler);
    await client().chat.completions.create({
      ...base,
      messages: [{ role: 'user', content: 'x'.repeat(1_200_000) }],
    });
    expect(recorded(model)).toBe(1);
  });

  it('a client that is gone while the answer is written did not receive it, until it comes back', async () => {
    // The answer is larger than the buffers of a socket.
    const sampler = scriptedSampler({
      script: () => encode(`${'"'.repeat(1_500_000)}<|im_end|>`),
      maxModelLen: 2_000_000,
    });
    const { model, mount } = await serve(sampler);
    const body = JSON.stringify({ ...base, stream: true, return_token_ids: true });
    const { hostname, port, pathname } = new URL(`${mount.baseURL}/chat/completions`);
    const socket = connect(Number(port), hostname);
    const head = [
      `POST ${pathname} HTTP/1.1`,
      `Host: ${hostname}`,
      `Authorization: Bearer ${mount.apiKey}`,
      `Content-Length: ${body.length}`,
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
    await new Promise((resolve) => socket.once('data', resolve));
    socket.destroy();
    await expect.poll(() => model.metrics()).toMatchObject({ 'model/undelivered': 1 });
    expect(recorded(model)).toBe(0);
    const headers = { authorization: `Bearer ${mount.apiKey}` };
    await (
      await fetch(`${mount.baseURL}/chat/completions`, { method: 'POST', headers, body })
    ).text();
    expect(sampler.calls).toHaveLength(1);
    expect(recorded(model)).toBe(1);
  });
});
