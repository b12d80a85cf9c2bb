/** A server whose turn store is in a temporary folder, with a model that answers immediately. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createExperience, type Experience } from '@trinity-rft/core';
import { testRuntime } from '@trinity-rft/testing';
import { afterFile } from '@trinity-rft/test-support';
import {
  createCommit,
  createServe,
  openTurnStore,
  type CommitOptions,
  type Serve,
  type ServeOptions,
  type TurnStore,
} from '../src/index.js';

export function databasePath(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'trinity-serve-'));
  afterFile(() => rmSync(folder, { recursive: true, force: true }));
  return path.join(folder, 'serve', 'calls.db');
}

export const recorded = (...tokens: readonly number[]): Experience =>
  createExperience({
    tokens: [1, ...tokens],
    promptLength: 1,
    logprobs: tokens.map(() => -0.5),
    policyVersion: 0,
    temperature: 1,
  });

/** A store that keeps the experiences and the state that were put. */
export function listStore(): CommitOptions['store'] & {
  readonly rows: Experience[];
} {
  const rows: Experience[] = [];
  let state: Readonly<Record<string, unknown>> | undefined;
  let last = 0;
  return {
    rows,
    put: async (batch, next = state, commit = last) => {
      rows.push(...batch);
      [state, last] = [next, commit];
    },
    explorerState: async () => state,
    lastCommit: async () => last,
  };
}

export const asTheyAre: CommitOptions['pipeline'] = (experiences) => ({ experiences, metrics: {} });

export interface Served {
  readonly serve: Serve;
  readonly turns: TurnStore;
  readonly store: ReturnType<typeof listStore>;
  /** Sessions in the order in which their models were created. */
  readonly made: readonly string[];
  /** Requests an answer with this number of choices; resolves with its id. */
  ask(
    choices?: number,
    request?: { readonly headers?: Record<string, string>; readonly body?: object },
  ): Promise<string>;
  post(
    path: string,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly json: Record<string, unknown> }>;
}

export async function served(
  options: Partial<ServeOptions> & { readonly path?: string } = {},
): Promise<Served> {
  const turns = await openTurnStore({ path: options.path ?? databasePath() });
  const store = listStore();
  const made: string[] = [];
  let answers = 0;
  const { clock, logger } = testRuntime();
  const serve = createServe({
    turns,
    createModel: (session, onCall) => {
      made.push(session);
      let tokens = 0;
      return {
        handler: async (_request, body) => {
          const { n = 1 } = (body?.value ?? {}) as { readonly n?: number };
          const msgId = `msg_${turns.starts}_${answers++}`;
          await onCall({
            msgId,
            experiences: Array.from({ length: n }, (_, choice) => recorded(choice + 2, 9)),
          });
          tokens += 3 * n;
          return Response.json({ id: msgId });
        },
        keptTokens: () => tokens,
      };
    },
    commit: createCommit({ turns, store, pipeline: asTheyAre, sink: { write: () => undefined } }),
    policyVersion: () => 0,
    readBody: async (request) => {
      const text = await request.text();
      return { value: text === '' ? {} : (JSON.parse(text) as unknown), digest: '' };
    },
    clock,
    logger,
    ...options,
  });
  const post: Served['post'] = async (route, body) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await serve.handler(
      new Request(`http://server${route}`, {
        method: 'POST',
        ...(text !== undefined && { body: text }),
      }),
    );
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  };
  return {
    serve,
    turns,
    store,
    made,
    post,
    ask: async (n = 1, { headers = {}, body = {} } = {}) => {
      const text = JSON.stringify({ n, ...body });
      const request = new Request('http://server/v1/chat/completions', {
        method: 'POST',
        body: text,
        headers: { ...headers, 'content-length': String(text.length) },
      });
      return ((await (await serve.handler(request)).json()) as { readonly id: string }).id;
    },
  };
}
