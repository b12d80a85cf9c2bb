import { scriptedSampler, testRuntime } from '@trinity-rft/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encode, modelOver } from '../../../test/helpers.js';

type Step =
  | {
      readonly do: 'ask';
      readonly body: number;
      readonly stream: boolean;
      readonly repeats: boolean;
    }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'leave' | 'read' | 'look'; readonly client: number };

const client = fc.nat(4);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('ask' as const),
    body: fc.constantFrom(0, 0, 1),
    stream: fc.constantFrom(true, true, false),
    repeats: fc.boolean(),
  }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(30, 60, 110) }),
  fc.record({ do: fc.constantFrom('leave' as const, 'read' as const, 'look' as const), client }),
);

interface Client {
  readonly controller: AbortController;
  readonly response: Promise<Response>;
  reader?: ReadableStreamDefaultReader<Uint8Array>;
  /** Pending read of the next piece. */
  reading?: Promise<boolean>;
  text: string;
}

/** Takes one piece, or all pieces that are available. */
async function take(one: Client, all: boolean): Promise<void> {
  const response = await soon(one.response);
  if (!response || one.controller.signal.aborted) return;
  one.reader ??= response.body!.getReader();
  do one.reading ??= read(one, one.reader);
  while ((await soon(one.reading)) && all);
}

async function read(
  one: Client,
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<boolean> {
  const piece = await reader.read().catch(() => undefined);
  delete one.reading;
  if (!piece || piece.done) return false;
  one.text += new TextDecoder().decode(piece.value);
  return true;
}

function soon<T>(promise: Promise<T>): Promise<T | undefined> {
  return Promise.race([
    promise,
    new Promise<undefined>((resolve) => setImmediate(() => setImmediate(() => resolve(undefined)))),
  ]);
}

const idIn = (text: string): string | undefined =>
  !text.includes('finish_reason":"stop"') || (text.includes('data: ') && !text.includes('[DONE]'))
    ? undefined
    : /"id":"(chatcmpl_\w+)"/.exec(text)?.[1];

it('records exactly the answers that some client has in full, whoever asks, repeats, reads and leaves in whatever order', async () => {
  let delivered = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 4, maxLength: 24, size: 'max' }),
      async (steps) => {
        const runtime = testRuntime();
        const sampler = scriptedSampler({
          script: () => encode('four<|im_end|>'),
          delayMs: 100,
          clock: runtime.clock,
        });
        const model = modelOver(sampler, { runtime, heartbeat: { afterMs: 50, everyMs: 20 } });
        const clients: Client[] = [];
        for (const one of steps) {
          if (one.do === 'wait') await runtime.clock.advance(one.ms);
          else if (one.do === 'ask') clients.push(ask(one));
          else if (clients[one.client]) {
            if (one.do === 'leave') clients[one.client]!.controller.abort();
            else await take(clients[one.client]!, one.do === 'read');
          }
        }
        for (const { controller } of clients) controller.abort();
        for (const { reader } of clients) await reader?.cancel().catch(() => undefined);
        await runtime.clock.advance(1000);
        const ids = new Set(
          clients.map(({ text }) => idIn(text.trim())).filter((id) => id !== undefined),
        );
        delivered += ids.size;
        expect(model.extractExperiencesFromHistory()).toHaveLength(ids.size);
        expect([sampler.inFlight, runtime.clock.sleeping]).toEqual([0, 0]);
        for (const { response } of clients) expect([200, 499]).toContain((await response).status);

        function ask({ body, stream, repeats }: Extract<Step, { readonly do: 'ask' }>): Client {
          const controller = new AbortController();
          const request = new Request('http://host/v1/chat/completions', {
            method: 'POST',
            signal: controller.signal,
            headers: repeats ? { 'x-stainless-retry-count': '1' } : {},
            body: JSON.stringify({ messages: [{ role: 'user', content: `${body}` }], stream }),
          });
          return { controller, response: model.handler(request), text: '' };
        }
      },
    ),
    { numRuns: 300 },
  );
  expect(delivered).toBeGreaterThan(0);
});
