import { Hono } from 'hono';
import { expect, it, vi } from 'vitest';
import { runRoutes } from '../interface/runs.js';
import type { Catalogue } from '../runs/catalogue.js';
import { createApi } from './api.js';

it('searches once for a run that the page of a removed run asks for again and again', async () => {
  const summaries = vi.fn<Catalogue['summaries']>(async () => []);
  const app = new Hono();
  const catalogue = { run: () => undefined, summaries } as unknown as Catalogue;
  createApi(app, catalogue).ofRun(runRoutes, '/api/runs/{run}/settings', () => new Response());
  for (let i = 0; i < 10; i++)
    expect((await app.request('/api/runs/gone/settings')).status).toBe(404);
  expect(summaries).toHaveBeenCalledOnce();
});
