/** What our own packages share; no promise of stability. */
export { experienceJson } from './experience-json.js';
export { openedFile } from './store/opened-file.js';
export { checkRows } from './supervised/check-rows.js';
