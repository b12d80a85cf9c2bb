import type { Clock } from './runtime.js';

/**
 * Returns the current time in UTC for names of files and training runs, such as `20260701093000`.
 */
export const timestamp = (clock: Pick<Clock, 'now'>): string =>
  new Date(clock.now()).toISOString().replaceAll(/\D/g, '').slice(0, 14);
