/** What our own packages share; no promise of stability. */
export { experienceJson } from './experience-json.js';
export { openedFile } from './store/opened-file.js';
export { checkRows } from './supervised/check-rows.js';
export type { Environment } from './hub/hub-access.js';
export {
  describeHubModel,
  fetchHubModel,
  fetchModelShape,
  findCachedModel,
  size as byteSize,
  type HubModelOptions,
} from './hub/hub-model.js';
