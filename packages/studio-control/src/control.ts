/** What the studio does beside reading, as a part of its interface. */
import type { StudioPart } from '@trinity-rft/studio-api';
import { actions, routes } from './interface/routes.js';
import { createProcessReaders } from './processes/readers.js';
import { addProcesses } from './processes/routes.js';

/** For `parts` of `openStudio`. */
export function openControl(): StudioPart {
  const readers = createProcessReaders();
  return {
    routes,
    actions,
    add: (api) => addProcesses(api, readers),
    close: () => readers.close(),
  };
}
