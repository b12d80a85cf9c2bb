// Constants that the killed process and the test share.

/** Experiences per put. */
export const putSize = 8;
/** Experiences per train step. */
export const batchSize = 4;
