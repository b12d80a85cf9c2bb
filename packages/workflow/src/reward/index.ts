export { createMathChecker } from './checker/checker.js';
export {
  type GivenUp,
  type GiveUpReason,
  type MathChecker,
  type MathCheckerOptions,
  type MathVerdict,
} from './checker/types.js';
export type { MathPair, MathRule } from './checker/rules.js';
export { createRewardFn, rewardFnNames, rewardKinds } from './create.js';
export {
  checkBoxedAnswer,
  checkMathAnswer,
  extractAnswer,
  extractTruth,
  sameMath,
} from './math/check.js';
export { normalizeAnswer } from './math/marks.js';
export { assertionsOf, taskAssertions } from './scorers/assertions.js';
export {
  fromScorer,
  scorerArguments,
  type FromScorerOptions,
  type Scorer,
} from './scorers/from-scorer.js';
export {
  createGrader,
  type AnswerGrader,
  type GraderInput,
  type GraderResult,
  type GraderTools,
} from './graders/create-grader.js';
export type { GraderErrors } from './graders/fault.js';
export type {
  CompleteFn,
  GraderModelAnswer,
  GraderModelRequest,
  GraderUsage,
} from './graders/model-graders.js';
export type { PythonLimits } from './graders/python-grader.js';
export { graderSample, type GraderSample } from './graders/sample.js';
export {
  checkGraderRow,
  graderSchema,
  modelsOfGrader,
  needsPython,
  type GraderSpec,
} from './graders/schema.js';
export { defineReward, type RewardDefinition } from './define.js';
export * as original from './original.js';
export type { RewardKind, RewardTools } from './rewards/shared/reward-kind.js';
export { pythonValue } from './math/python-expression.js';
