/** Registers routes of the studio's HTTP API. */
import { readJson } from '@trinity-rft/http-server';
import type { Context, Hono } from 'hono';
import type { z } from 'zod';
import type { Actions, QueryOf, Route, Routes } from '../interface/route.js';
import type { Catalogue } from '../runs/catalogue.js';
import type { Run } from '../runs/run.js';
import { readQuery } from './query.js';

/** Maximum size of the body of an action request, in bytes. */
const maxBytes = 1 << 20;

/**
 * Time in ms before a run that was not found is searched again: the page of a removed run polls
 * several routes every second.
 */
const searchAgainMs = 3000;

type Answer = Response | Promise<Response>;

export interface Api {
  readonly catalogue: Catalogue;
  /** Adds a GET route of a table; `answer` receives the validated query. */
  get<R extends Routes, P extends keyof R & string>(
    routes: R,
    path: P,
    answer: (query: QueryOf<R[P]>, context: Context) => Answer,
  ): void;
  /** Adds a GET route for one run, whose path begins with `/api/runs/{run}/`. */
  ofRun<R extends Routes, P extends keyof R & string>(
    routes: R,
    path: P,
    answer: (run: Run, query: QueryOf<R[P]>, context: Context) => Answer,
  ): void;
  /** Adds a POST route below `/api/actions/`; `answer` receives the validated body. */
  act<T>(path: string, body: z.ZodType<T>, answer: (given: T, context: Context) => Answer): void;
  /** Adds a POST route for one run, below `/api/actions/runs/ID/`. */
  actOnRun<T>(path: string, body: z.ZodType<T>, answer: (run: Run, given: T) => Answer): void;
}

export type AddRoutes = (api: Api) => void;

/**
 * Routes that another package adds to the studio. Unlike those of this package, they may change
 * something.
 */
export interface StudioPart {
  /** Descriptions of the part's routes for the OpenAPI document. */
  readonly routes: Routes;
  readonly actions: Actions;
  readonly add: AddRoutes;
  /** Releases the resources of the routes. */
  close(): Promise<void>;
}

/** Creates a 404 response. @param error sentence that names what is missing */
export const notFound = (error: string): Response => Response.json({ error }, { status: 404 });

const noRun = (context: Context): Response =>
  notFound(`There is no run ${context.req.param('run')}. It was removed, or has another name.`);

export function createApi(app: Hono, catalogue: Catalogue): Api {
  /** Last search for a run that was not known. */
  let search = { id: '', at: -Infinity, done: Promise.resolve<unknown>(undefined) };
  /** Returns the run whose id is in the path. The id may contain encoded slashes. */
  const runOf = async (context: Context): Promise<Run | undefined> => {
    const id = context.req.param('run') ?? '';
    // After a restart of the server, a page may request a run before it requests the list of runs.
    if (catalogue.run(id) === undefined) {
      const now = Date.now();
      if (search.id !== id || now - search.at > searchAgainMs)
        search = { id, at: now, done: catalogue.summaries() };
      await search.done;
    }
    return catalogue.run(id);
  };
  const act: Api['act'] = (path, body, answer) =>
    void app.post(`/api/actions/${path}`, async (context) => {
      const given = body.safeParse(await readJson(context.req.raw, { maxBytes }));
      if (given.success) return answer(given.data, context);
      const [issue] = given.error.issues;
      const place = issue?.path.join('.') || 'the body';
      return context.json({ error: `In ${place}: ${issue?.message ?? 'not valid'}.` }, 400);
    });
  const get: Api['get'] = <R extends Routes, P extends keyof R & string>(
    routes: R,
    path: P,
    answer: (query: QueryOf<R[P]>, context: Context) => Answer,
  ): void => {
    const { query } = routes[path] as Route;
    app.get(path.replaceAll(/\{(\w+)\}/g, ':$1'), (context) =>
      answer(readQuery<R[P]>(query, context.req.query()), context),
    );
  };
  return {
    catalogue,
    get,
    ofRun: (routes, path, answer) =>
      get(routes, path, async (query, context) => {
        const run = await runOf(context);
        return run ? answer(run, query, context) : noRun(context);
      }),
    act,
    actOnRun: (path, body, answer) =>
      act(`runs/:run/${path}`, body, async (given, context) => {
        const run = await runOf(context);
        return run ? answer(run, given) : noRun(context);
      }),
  };
}
