/** What this package adds to the interface. All need the key. */
import type { Actions, Routes } from '@trinity-rft/studio-api/internal';
import { processRoutes } from './processes.js';

export const routes: Routes = { ...processRoutes };

export const actions: Actions = {};
