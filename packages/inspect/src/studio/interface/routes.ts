/** All routes of this package. Requests to each of them must contain the key. */
import { insightRoutes } from './insight.js';
import { metricRoutes } from './metrics.js';
import { rolloutRoutes } from './rollouts.js';
import type { Actions, Routes } from './route.js';
import { runActions, runRoutes } from './runs.js';
import { storyRoutes } from './story.js';

export const routes: Routes = {
  ...runRoutes,
  ...metricRoutes,
  ...rolloutRoutes,
  ...insightRoutes,
  ...storyRoutes,
};

export const actions: Actions = { ...runActions };
