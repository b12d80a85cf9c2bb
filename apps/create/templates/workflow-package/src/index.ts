/** Exports for a run that loads this package: workflows and reward functions, by their names. */
export { estimate } from './workflow.ts';
export { closeness } from './reward.ts';
