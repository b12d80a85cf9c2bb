import type { Clock } from './runtime.js';

/** Current time in UTC for names of files and runs, such as `20260701093000`. */
export const timestamp = (clock: Pick<Clock, 'now'>): string =>
  new Date(clock.now()).toISOString().replaceAll(/\D/g, '').slice(0, 14);
