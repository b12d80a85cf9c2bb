/** What our own packages share; no promise of stability. */
export type { Vocabulary } from './schema/root.js';
