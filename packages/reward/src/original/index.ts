export { computeScoreV0, isEquiv, lastBoxedOnlyString } from './boxed.js';
export { extractAnswer } from './extract-answer.js';
export { mathEqual, verifyMathAnswer } from './math-equal.js';
export {
  isFraction,
  naiveDapoScore,
  normalizeDapo,
  shouldAllowEval,
  splitTuple,
} from './naive-dapo.js';
export { stripString } from './strip-string.js';
export { hasOneThought as validateThinkPattern } from '../layout.js';
