// What the killed process and its judge agree on.

/** Experiences per put. */
export const putSize = 8;
/** Experiences per train step. */
export const batchSize = 4;
