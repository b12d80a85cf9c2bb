/** What our own packages share; no promise of stability. */
export { writeAtomically } from './checkpoint/checkpoint.js';
export { isExpert } from './step/requirements.js';
export { criticIn } from './checkpoint/models.js';
