/**
 * Entry point that a run loads from this package. Exports workflows and reward functions by their
 * names.
 */
export { estimate } from './workflow.ts';
export { closeness } from './reward.ts';
