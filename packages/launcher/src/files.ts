/** The files in the folder of a run: their names, what they hold, and their readers. */
export { answersFile, evaluationsName } from './assembly/data/evaluation-answers.js';
export type { Settings } from './assembly/settings.js';
export { readRecord } from './run/changes/record.js';
export { describeEnd, interruptOf, readEnd, writeEnd, type RunEnd } from './run/end.js';
export {
  failureFile,
  firstCause,
  messagesIn,
  readFailure,
  stacksOf,
  writeFailure,
} from './run/failure.js';
export { lockHolder, lockRun } from './run/lock.js';
export { readSource, writeSource } from './run/source.js';
export { openProcessFile, processFileName, type ProcessBeat } from './watch/process-file.js';
export { ownStoreName, readStorePlace } from './watch/store-file.js';
