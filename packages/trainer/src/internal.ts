// What only packages of this repository share.
export { writeAtomically } from './checkpoint/checkpoint.js';
export { criticIn } from './checkpoint/models.js';
