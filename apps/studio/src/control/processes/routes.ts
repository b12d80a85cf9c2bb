/** Adds the routes of processes. */
import { jobFolder, type Api } from '@trinity-rft/inspect/studio';
import { processRoutes } from '../interface/processes.js';
import type { ProcessReaders } from './readers.js';

export function addProcesses(api: Api, readers: ProcessReaders): void {
  api.ofRun(processRoutes, '/api/runs/{run}/processes', async ({ place }) =>
    Response.json(await readers.look(await jobFolder(place.folder))),
  );
}
