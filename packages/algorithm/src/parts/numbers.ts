/** Functions that limit numbers. */

export const clamp = (value: number, low: number, high: number): number =>
  value < low ? low : value > high ? high : value;

/**
 * Largest absolute log-ratio that is exponentiated. e^d overflows float32 at d = 88, and one such
 * token would corrupt the batch.
 */
const largestLogRatio = 20;

export const clampLogRatio = (d: number): number => clamp(d, -largestLogRatio, largestLogRatio);

/** e^d, with d clamped to ±20. */
export const boundedExp = (d: number): number => Math.exp(clampLogRatio(d));
