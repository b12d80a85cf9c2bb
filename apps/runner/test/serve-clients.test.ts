/** Tests the server with the SDKs of a product's clients, over HTTP, with a real model. */
import { readFileSync } from 'node:fs';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { streamText } from 'ai';
import { APIError } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serveKey, startProduct, type Product } from './support/product.js';
import { createWideModel } from './support/wide-model.js';
import { createWorkspace } from './support/workspace.js';

let product: Product;
let origin: string;
beforeAll(async () => {
  const workspace = await createWorkspace();
  await createWideModel(workspace, 'wide');
  const file = workspace.config('clients.yaml', {
    name: 'clients',
    mode: 'serve',
    model: {
      model_path: `${workspace.root}/wide`,
      max_prompt_tokens: 700,
      max_response_tokens: 60,
    },
    explorer: {
      cors_origins: ['https://app.example'],
      rollout_model: { tool_call_parser: 'hermes' },
    },
    buffer: { train_batch_size: 4 },
  });
  product = await startProduct(workspace.root, ['--config', file]);
  origin = new URL(product.openai.baseURL).origin;
}, 60_000);
afterAll(async () => {
  product.server.child.kill('SIGKILL');
  await product.server.ended;
});

const messages = [{ role: 'user' as const, content: '2+2=' }];
const ask = { model: 'any', messages };
const properties = { digit: { enum: [1, 2, 3] }, sure: { type: 'boolean' } };
const schema = { type: 'object', properties, required: ['digit'], additionalProperties: false };
const tool = { type: 'function' as const, function: { name: 'report', parameters: schema } };

describe('clients of a served model', () => {
  it('read along: the OpenAI SDK, the AI SDK and the Anthropic SDK', async () => {
    const { openai } = product;
    const chunks: string[] = [];
    for await (const chunk of await openai.chat.completions.create({ ...ask, stream: true }))
      chunks.push(chunk.choices[0]?.delta.content ?? '');
    expect(chunks.filter(Boolean).length).toBeGreaterThan(5);
    const deltas: string[] = [];
    for await (const event of await openai.responses.create({
      model: 'any',
      input: '2+2=',
      stream: true,
    }))
      if (event.type === 'response.output_text.delta') deltas.push(event.delta);
    expect(deltas.length).toBeGreaterThan(5);
    const texts: string[] = [];
    for await (const part of await openai.completions.create({
      model: 'any',
      prompt: '2+2=',
      stream: true,
    }))
      texts.push(part.choices[0]?.text ?? '');
    expect(texts.filter(Boolean).length).toBeGreaterThan(5);
    const provider = createOpenAICompatible({
      name: 'trinity',
      baseURL: openai.baseURL,
      apiKey: serveKey,
    });
    const parts: string[] = [];
    for await (const part of streamText({ model: provider('any'), prompt: '2+2=' }).textStream)
      parts.push(part);
    expect(parts.length).toBeGreaterThan(5);
    const anthropic = new Anthropic({ baseURL: origin, apiKey: serveKey });
    const pieces: string[] = [];
    const stream = anthropic.messages.stream({ model: 'any', max_tokens: 50, messages });
    stream.on('text', (text) => void pieces.push(text));
    const final = await stream.finalMessage();
    expect(pieces.length).toBeGreaterThan(5);
    expect(final.content).toMatchObject([{ type: 'text', text: pieces.join('') }]);
    expect(final.id).toMatch(/^msg_/);
    expect(await product.client.feedback({ reward: 1, msgIds: [final.id] })).toEqual({
      applied: [final.id],
      already: [],
    });
  });

  it('get what they ask for: temperature, seed, formats and calls', async () => {
    const { openai } = product;
    const text = async (more: object): Promise<string | null | undefined> =>
      (await openai.chat.completions.create({ ...ask, ...more, stream: false })).choices[0]?.message
        .content;
    expect(await text({ temperature: 0 })).toBe(await text({ temperature: 0 }));
    expect(await text({ seed: 5 })).toBe(await text({ seed: 5 }));
    expect(await text({ seed: 5 })).not.toBe(await text({ seed: 6 }));
    const format = { type: 'json_schema', json_schema: { name: 'report', strict: true, schema } };
    const written = JSON.parse((await text({ response_format: format })) ?? '') as object;
    expect([1, 2, 3]).toContain((written as { readonly digit: number }).digit);
    const forced = await openai.chat.completions.create({
      ...ask,
      tools: [tool],
      tool_choice: 'required',
    });
    expect(forced.choices[0]?.message.tool_calls).toMatchObject([{ function: { name: 'report' } }]);
    await expect(text({ presence_penalty: 1 })).rejects.toMatchObject({
      status: 400,
      param: 'presence_penalty',
    });
    // Greedy answers are trained on like sampled ones.
    const { id } = await openai.chat.completions.create({ ...ask, temperature: 0 });
    await product.client.feedback({ reward: 1, msgIds: [id] });
    expect((await product.client.commit()).calls).toBeGreaterThan(0);
  });

  it('learn the name of the model, and how to get in', async () => {
    const { openai } = product;
    expect((await openai.models.list()).data.map(({ id }) => id)).toEqual(['tests/clients']);
    expect((await product.ask()).model).toBe('tests/clients');
    for (const [headers, words] of [
      [{}, 'has no key. Expected the key of this server'],
      [{ authorization: 'Bearer wrong' }, 'is not the one of this server. It is TRINITY_SERVE_KEY'],
    ] as const) {
      const refused = await fetch(`${origin}/v1/models`, { headers });
      expect([refused.status, await refused.text()]).toEqual([401, expect.stringContaining(words)]);
    }
  });

  it('may be web pages of the configured origins', async () => {
    const preflight = (page: string): Promise<Response> =>
      fetch(`${origin}/v1/chat/completions`, {
        method: 'OPTIONS',
        headers: {
          origin: page,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,content-type',
        },
      });
    const allowed = await preflight('https://app.example');
    expect([
      allowed.status,
      allowed.headers.get('access-control-allow-origin'),
      allowed.headers.get('access-control-allow-headers'),
    ]).toEqual([204, 'https://app.example', 'authorization,content-type']);
    const other = await preflight('https://other.example');
    expect(other.headers.get('access-control-allow-origin')).toBeNull();
    for (const stream of [true, false]) {
      const answer = await fetch(`${origin}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          origin: 'https://app.example',
          authorization: `Bearer ${serveKey}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ ...ask, stream }),
      });
      expect(answer.headers.get('access-control-allow-origin')).toBe('https://app.example');
      await answer.text();
    }
  });

  it('are answered while another one sends an enormous prompt', async () => {
    const enormous = product.ask('a1 '.repeat(2_000_000)).catch((error: unknown) => error);
    let ended = false;
    void enormous.then(() => (ended = true));
    let answered = 0;
    while (!ended) {
      expect((await fetch(`${origin}/health`)).status).toBe(200);
      answered++;
    }
    expect(await enormous).toBeInstanceOf(APIError);
    expect(await enormous).toMatchObject({ status: 400, code: 'context_length_exceeded' });
    // Tokenizing the prompt in the main thread would delay every other response until it is done.
    expect(answered).toBeGreaterThan(5);
  });

  it.skipIf(process.platform !== 'linux')('talk to a process with the flags for servers', () => {
    const line = readFileSync(`/proc/${product.server.child.pid}/cmdline`, 'utf8');
    expect(line.split('\0')).toEqual(
      expect.arrayContaining(['--max-semi-space-size=4', '--v8-pool-size=1']),
    );
  });
});
