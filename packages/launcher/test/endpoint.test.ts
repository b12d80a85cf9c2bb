import { createRuntime } from '@trinity-rft/core';
import type { EndpointMount, RecordingModel } from '@trinity-rft/model';
import { expect, it } from 'vitest';
import { mountedModel, openEndpoint } from '../src/assembly/models/endpoint.js';

it('serves the model of an attempt over HTTP until the attempt is over', async () => {
  const endpoint = await openEndpoint(createRuntime({ seed: 1 }));
  const over = new AbortController();
  const mounts: EndpointMount[] = [];
  const model = mountedModel(endpoint, over, (mounted) => {
    mounts.push(mounted);
    const handler = (request: Request): Promise<Response> =>
      Promise.resolve(Response.json({ path: new URL(request.url).pathname }));
    return { handler, answer: handler } as Partial<RecordingModel> as RecordingModel;
  });
  const [{ baseURL, apiKey }] = mounts as [EndpointMount];
  const get = (): Promise<Response> =>
    fetch(`${baseURL}/models`, { headers: { authorization: `Bearer ${apiKey}` } });
  const answer = await get();
  expect(await answer.json()).toEqual({ path: new URL(`${baseURL}/models`).pathname });
  expect(await (await model.handler(new Request('http://x/direct'))).json()).toEqual({
    path: '/direct',
  });
  over.abort();
  expect((await get()).status).toBe(409);
  await endpoint.close();
  await expect(get()).rejects.toThrow(/fetch failed/);
});
