/** Adds the routes of processes. */
import { jobFolder, type Api } from '@trinity-rft/inspect/studio';
import type { ProcessReaders } from './readers.js';

export function addProcesses(api: Api, readers: ProcessReaders): void {
  api.ofRun('processes', async ({ place }, context) =>
    context.json(await readers.look(await jobFolder(place.folder))),
  );
}
