// Constants that the killed process and the test share.

/** Number of experiences per put. */
export const putSize = 8;
/** Number of experiences per train step. */
export const batchSize = 4;
