/** What a run finds when it loads this package: workflows and reward functions, by their names. */
export { estimate } from './workflow.ts';
export { closeness } from './reward.ts';
