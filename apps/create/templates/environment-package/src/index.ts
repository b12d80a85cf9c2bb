/** Entry point that a run loads from this package. Exports the environment by its name. */
export { guess } from './guess.ts';
