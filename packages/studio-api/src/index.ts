export type { StudioPart } from './server/api.js';
export type { RunPlace } from './runs/place.js';
export { openStudio, type Studio, type StudioOptions } from './studio.js';
