/**
 * Helpers for adapters and drivers, for example for waits that log their cause, for the redaction
 * of secrets, and for errors that suggest a fix.
 */
export { addressProblem, isHttpUrl } from './address-problem.js';
export { alignColumns } from './align-columns.js';
export { cacheFolder } from './cache-folder.js';
export { copyOf } from './copy-of.js';
export { isTrainedInParts, reasoningOf, weightGiven } from './answer-fields.js';
export { boundary, boundedText, causesOf, readableThrown } from './errors.js';
export { parseJsonExactly, stringifyExactly, withNumbersOf } from './exact-json.js';
export { draftsOf, fillFolder, makeFolder } from './fill-folder.js';
export { fillTemplate, type TemplatePlace } from './fill-template.js';
export { hubTokenOf, hubUrlOf, parseModelId, type ModelId } from './hub.js';
export { inheritedFlags } from './inherited-flags.js';
export { lazily, type Lazy } from './lazily.js';
export { loadPeer, peerInstall } from './load-peer.js';
export { machineMemory } from './machine-memory.js';
export { isTree, mergeTrees, type Tree } from './merge-trees.js';
export { checkDefinition } from './definition.js';
export { argumentsWithoutNulls, schemaWithoutNulls, toolWithoutNulls } from './null-members.js';
export { numberOfHalf } from './number-of-half.js';
export { otherInput, textPart } from './other-input.js';
export { commonKeys } from './common-keys.js';
export { openTogether, type Closable, type ResourceStack } from './open-together.js';
export { asTyped, ownCommand, shellText } from './own-command.js';
export { atExit, isProcessAlive, killGroup, readToEnd } from './process-alive.js';
export { repeatedKey, stringEnd } from './repeated-key.js';
export { fillFile, replaceFile, replaceFileSync } from './replace-file.js';
export { removeFolder, replaceFolder } from './replace-folder.js';
export { retryAfterMs } from './retry-after.js';
export { returnedBy, type Returned } from './returned.js';
export { countPerLogger, longestTimer } from './runtime.js';
export {
  failureText,
  isPasswordName,
  isSecretName,
  knowSecret,
  knowSecretHeaders,
  knowSecretsOf,
  redactText,
  redacted,
  shownVariable,
} from './secrets.js';
export { parseStoredJson, refuseLfsPointer } from './stored-json.js';
export { createStoppableClock, type StoppableClock } from './stoppable-clock.js';
export { didYouMean, nearest } from './suggest.js';
export { withinMs } from './time-limit.js';
export { timestamp } from './timestamp.js';
export { tryJson } from './try-json.js';
export { untilAborted } from './until-aborted.js';
export { beginWait, type WaitCause, waitingFor, type WaitLog } from './waits.js';
export { assertKnownArgs, pickRow, readArgs } from './args.js';
export { argProblems, type ArgsOwner, readArgsBy } from './args-schema.js';
