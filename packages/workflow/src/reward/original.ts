export { computeScoreV0, isEquiv, lastBoxedOnlyString } from './original/boxed.js';
export { extractAnswer } from './original/extract-answer.js';
export { mathEqual, verifyMathAnswer } from './original/math-equal.js';
export {
  isFraction,
  naiveDapoScore,
  normalizeDapo,
  shouldAllowEval,
  splitTuple,
} from './original/naive-dapo.js';
export { stripString } from './original/strip-string.js';
export { hasOneThought as validateThinkPattern } from './rewards/shared/layout.js';
