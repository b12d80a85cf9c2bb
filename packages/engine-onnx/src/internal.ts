/** What our own packages share; no promise of stability. */
export { readModelFiles } from './storage/model-folder.js';
