/** Adds the routes of runs, and of the events that report changes of runs. */
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import { runNotes, runRoutes } from '../interface/runs.js';
import type { Catalogue } from '../runs/catalogue.js';
import { writeNotes } from '../runs/notes.js';
import { settingsOf } from '../runs/settings.js';
import type { AddRoutes } from './api.js';

export const addRuns: AddRoutes = (api) => {
  api.get(runRoutes, '/api/runs', async () => Response.json(await api.catalogue.summaries()));
  api.get(runRoutes, '/api/events', (_, context) => streamEvents(context, api.catalogue));
  api.ofRun(runRoutes, '/api/runs/{run}/settings', async ({ place }) =>
    Response.json(await settingsOf(place.folder)),
  );
  api.actOnRun('notes', runNotes, async ({ place }, given) => {
    await writeNotes(place.folder, given);
    return Response.json(given);
  });
};

/** Time in ms between the comments that keep an event stream open. */
const aliveMs = 10_000;

function streamEvents(context: Context, catalogue: Catalogue): Response {
  return streamSSE(context, async (stream) => {
    const unfollow = catalogue.follow((event) => {
      void stream.writeSSE({ event: 'runs', data: JSON.stringify(event) });
    });
    const alive = setInterval(() => void stream.write(': alive\n\n'), aliveMs);
    await new Promise<void>((resolve) => stream.onAbort(resolve));
    clearInterval(alive);
    unfollow();
  });
}
