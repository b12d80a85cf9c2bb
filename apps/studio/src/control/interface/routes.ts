/**
 * Routes that this package adds to the studio's HTTP API. Requests to each of them must contain the
 * key.
 */
import type { Actions, Routes } from '@trinity-rft/inspect/studio';
import { builderActions, builderRoutes } from './builder.js';
import { playgroundActions, playgroundRoutes } from './playground.js';
import { processRoutes } from './processes.js';
import { scoringActions } from './scoring.js';

export const routes: Routes = { ...processRoutes, ...builderRoutes, ...playgroundRoutes };

export const actions: Actions = { ...builderActions, ...playgroundActions, ...scoringActions };
