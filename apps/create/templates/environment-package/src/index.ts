/** What a run finds when it loads this package: an environment, by its name. */
export { guess } from './guess.ts';
