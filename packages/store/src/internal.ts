/** What our own packages share; no promise of stability. */
export { memoryRunStore, type SharedRunStore } from './open-run-store.js';
