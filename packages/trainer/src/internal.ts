/** Shared by our own packages; no promise of stability. */
export { criticIn } from './checkpoint/models.js';
