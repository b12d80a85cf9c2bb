export { findRecords, type RecordsPlace } from './debug/find-records.js';
export { giveReward, runsThatWait, type WaitingRun } from './debug/late-rewards.js';
export {
  serveDebugModel,
  type DebugModelOptions,
  type ServedDebugModel,
} from './debug/inference-model.js';
export type { DebugOptions } from './debug/open.js';
export { serveTinker, type ServedTinker, type ServeTinkerOptions } from './debug/tinker-server.js';
export { renderWorkflowDebug, type RenderOptions } from './debug/render.js';
export type { Span, WorkflowDebugReport } from './debug/report.js';
export { debugWorkflow, type DebugWorkflowOptions } from './debug/workflow.js';
export {
  diagnoseRun,
  renderDiagnosis,
  type RunDiagnosis,
  type StageDiagnosis,
} from './report/diagnose-run.js';
export {
  evaluateRun,
  renderEvaluation,
  type CheckpointScore,
  type EvaluateRunOptions,
  type Evaluation,
  type SetEvaluation,
} from './report/evaluate-run.js';
export {
  whatIfRun,
  type RunChange,
  type StoreWhatIf,
  type WhatIfRunOptions,
} from './report/what-if-run.js';
export { renderWhatIf } from './report/render-what-if.js';
export { renderAnswers } from './report/render-answers.js';
export {
  renderEnd,
  renderMetric,
  renderReport,
  type RenderReportOptions,
} from './report/render.js';
export { reportRun, type RunReport, type StageReport } from './report/run-report.js';
export { renderVerification } from './verify/render.js';
export type { Verification, VerifiedStore, VerifiedVersion, Worst } from './verify/report.js';
export { verifyRun, type VerifyOptions } from './verify/verify.js';
export { causesOf, type CauseLink, type RunCauses, type WaitChain } from './status/causes.js';
export { openStatus, type StatusReader } from './status/read-status.js';
export { renderCauses, renderStatus } from './status/render-status.js';
export type { MemberStatus, RunStatus } from './status/run-status.js';
export { debugFiles } from './debug/files.js';
export { openRollouts, type Rollouts } from './debug/rollouts.js';
