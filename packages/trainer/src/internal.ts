/** Shared by our own packages; no promise of stability. */
export { writeAtomically } from './checkpoint/checkpoint.js';
export { criticIn } from './checkpoint/models.js';
