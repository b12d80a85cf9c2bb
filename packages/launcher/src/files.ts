/** Exports the names, contents and readers of the files in the folder of a training run. */
export { answersFile, evaluationsName } from './assembly/data/evaluation-answers.js';
export { readRecord } from './run/changes/record.js';
export { describeEnd, readEnd, writeEnd, type RunEnd } from './run/end.js';
export {
  failureFile,
  messagesIn,
  readFailure,
  redactedStacks,
  writeFailure,
} from './run/failure.js';
export { lockHolder, lockRun } from './run/lock.js';
export { readSource, writeSource } from './run/source.js';
export { openProcessFile, readProcessBeat } from './watch/process-file.js';
export { readStorePlace } from './watch/store-file.js';
