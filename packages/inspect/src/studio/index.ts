export type { RunPlace } from './runs/place.js';
export { openStudio, type Studio, type StudioOptions } from './studio.js';
export { openApi } from './interface/openapi.js';
export { count, number, numberOrNull, text, type Actions, type Routes } from './interface/route.js';
export type { AttemptRow } from './rollouts/rollouts.js';
export { findRuns } from './runs/place.js';
export { jobFolder } from './runs/state.js';
export { notFound, type AddRoutes, type Api, type StudioPart } from './server/api.js';
