/**
 * The measured process: `bare` answers every request with the same bytes, `recording` is the endpoint
 * with its records.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { serve } from '@hono/node-server';
import { createRuntime } from '../../packages/core/src/index.ts';
import { openEndpointServer } from '../../packages/model/src/index.ts';
import { openTurnStore } from '../../packages/serve/src/index.ts';
import { Hono } from 'hono';
import { rolloutMaker, type Rollout } from './rollouts.ts';

/** Address at which a conversation can be held. `id` is released when the conversation has ended. */
export interface Place {
  readonly id: number;
  readonly baseURL: string;
  readonly apiKey: string;
}

export type ToTarget =
  | { readonly kind: 'ended'; readonly id: number }
  | { readonly kind: 'begin' }
  | { readonly kind: 'stop' };
export type FromTarget =
  | { readonly kind: 'place'; readonly place: Place }
  /** Usage since `begin`. */
  | { readonly kind: 'usage'; readonly cpuMs: number; readonly records: number };

interface Target {
  place(id: number): Place;
  ended(id: number): void;
  close(): Promise<number>;
}

const [kind, places] = [process.argv[2], Number(process.argv[3])];
const target = kind === 'bare' ? await bare(process.argv[4]!) : await recording();
const send = (message: FromTarget): void => void process.send!(message);
let used = process.cpuUsage();
let next = 0;
for (; next < places; next++) send({ kind: 'place', place: target.place(next) });
process.on('message', (message: ToTarget) => {
  if (message.kind === 'begin') used = process.cpuUsage();
  else if (message.kind === 'stop') void stop();
  else {
    target.ended(message.id);
    send({ kind: 'place', place: target.place(next++) });
  }
});

async function stop(): Promise<void> {
  const { user, system } = process.cpuUsage(used);
  send({ kind: 'usage', cpuMs: (user + system) / 1000, records: await target.close() });
  process.disconnect();
}

async function bare(bytes: string): Promise<Target> {
  const app = new Hono();
  app.all('*', async ({ req }) => {
    await req.text();
    return new Response(bytes, { headers: { 'content-type': 'application/json' } });
  });
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { readonly port: number };
  return {
    place: (id) => ({ id, baseURL: `http://127.0.0.1:${port}/r/${id}/v1`, apiKey: 'none' }),
    ended: () => undefined,
    close: () => new Promise((resolve) => server.close(() => resolve(0))),
  };
}

async function recording(): Promise<Target> {
  const server = await openEndpointServer({ runtime: createRuntime() });
  const folder = await mkdtemp(path.join(tmpdir(), 'trinity-bench-endpoint-'));
  const turns = await openTurnStore({ path: path.join(folder, 'calls.db') });
  const make = rolloutMaker(server, turns);
  const rollouts = new Map<number, Rollout>();
  return {
    place: (id) => {
      const rollout = make();
      rollouts.set(id, rollout);
      return { id, baseURL: rollout.baseURL, apiKey: rollout.apiKey };
    },
    ended: (id) => {
      const rollout = rollouts.get(id)!;
      rollouts.delete(id);
      rollout.close();
    },
    close: async () => {
      await server.close();
      const { total } = await turns.counts();
      await turns.close();
      await rm(folder, { recursive: true });
      return total;
    },
  };
}
