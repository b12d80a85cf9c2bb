/** Explore steps of which the pipeline keeps nothing: the run goes on, and somebody should know. */
import type { Logger } from '@trinity-rft/core';

/** Said after this many such steps in a row, and each time their number has doubled. */
const patience = 3;

/** Told of each explore step how many experiences its runs made and how many of them are stored. */
export function createDropWatch(logger: Logger): (made: number, stored: number) => void {
  let steps = 0;
  let next = patience;
  return (made, stored) => {
    if (stored > 0) [steps, next] = [0, patience];
    if (stored > 0 || made === 0 || ++steps < next) return;
    next = steps * 2;
    logger.warn(
      `Nothing was left to train on of the last ${steps} explore steps: operators or the advantage function dropped every experience. Expected some to stay. Look at experience_pipeline/*/filtered_count; tasks may be too easy or too hard for the model, or a threshold too high.`,
    );
  };
}
