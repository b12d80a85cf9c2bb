/** Exports for a run that loads this package: an environment, by its name. */
export { guess } from './guess.ts';
