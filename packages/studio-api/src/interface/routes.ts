/** All routes. All need the key. */
import { metricRoutes } from './metrics.js';
import { rolloutRoutes } from './rollouts.js';
import type { Actions, Routes } from './route.js';
import { runActions, runRoutes } from './runs.js';

export const routes: Routes = { ...runRoutes, ...metricRoutes, ...rolloutRoutes };

export const actions: Actions = { ...runActions };
