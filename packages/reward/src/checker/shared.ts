/** The checker of all reward functions that are not given another one. */
import { createMathChecker, type MathChecker } from './checker.js';

/**
 * One thread for the process, started when it is first needed; it keeps no process alive, so nobody
 * has to close it.
 */
export const sharedMathChecker: MathChecker = createMathChecker();
