/** Tests that a request to the model of `trinity serve` fails as at the recording endpoint. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRuntime } from '@trinity-rft/core';
import { createRolloutModel, errorResponseTo } from '@trinity-rft/model';
import { readBody } from '@trinity-rft/model/internal';
import { characterFormat } from '@trinity-rft/model/testing';
import { createServe, openTurnStore, type Serve, type TurnStore } from '@trinity-rft/serve';
import { recordingLogger, scriptedSampler } from '@trinity-rft/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';

const logger = recordingLogger();
const runtime = { ...createRuntime(), logger };
const bodyTimeoutMs = 50;
const model = createRolloutModel({
  sampler: scriptedSampler({ script: [] }),
  format: characterFormat(),
  modelPath: 'tiny',
  seedFor: () => 1,
  bodyTimeoutMs,
  runtime,
});
const folder = mkdtempSync(path.join(tmpdir(), 'trinity-serve-errors-'));
let turns: TurnStore;
let serve: Serve;
beforeAll(async () => {
  turns = await openTurnStore({ path: path.join(folder, 'calls.db') });
  serve = createServe({
    turns,
    createModel: () => model,
    commit: async () => ({ step: 0, calls: 0, experiences: 0 }),
    policyVersion: () => 0,
    readBody: (request) => readBody(request, { runtime, bodyTimeoutMs }, 'a request'),
    modelErrorResponse: errorResponseTo,
    ...runtime,
  });
});
afterAll(async () => {
  await turns.close();
  rmSync(folder, { recursive: true });
});

const stream = (start?: (controller: ReadableStreamDefaultController) => void): ReadableStream =>
  new ReadableStream({ start });
const bodies = {
  'no JSON': () => '{',
  'a body that stops': () => stream(),
  'a client that disconnects': () => stream((controller) => controller.error(new Error('reset'))),
};
const cases = Object.entries(bodies).flatMap(([what, body]) =>
  ['chat/completions', 'messages'].map((route) => [what, route, body] as const),
);

it.each(cases)('%s at %s', async (_what, route, body) => {
  const answerOf = async (handler: (request: Request) => Promise<Response>): Promise<unknown> => {
    const init = { method: 'POST', body: body(), duplex: 'half' as const };
    const response = await handler(new Request(`http://host/v1/${route}`, init));
    const { error, ...others } = (await response.json()) as { error: { type: string } };
    const retry = response.headers.get('x-should-retry');
    return { status: response.status, retry, type: error.type, ...others };
  };
  expect(await answerOf(serve.handler)).toEqual(await answerOf(model.handler));
  expect(logger.lines).toEqual([]);
});

it('a refusal while the server stops has the format of the protocol', async () => {
  await serve.drain(1000);
  const request = new Request('http://host/v1/messages', { method: 'POST', body: '{}' });
  const response = await serve.handler(request);
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
  expect(await response.json()).toMatchObject({ type: 'error' });
});
