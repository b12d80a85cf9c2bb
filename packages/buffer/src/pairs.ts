/** Pairs of responses that people compare, in files and databases. */
export { isDatabase, readPairTable, writePairTable } from './supervised/pair-table.js';
export { answerPairs, chosenRows } from './supervised/preference-pairs.js';
