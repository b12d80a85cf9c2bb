export { findRecords } from './debug/find-records.js';
export { giveReward, runsThatWait } from './debug/late-rewards.js';
export { serveDebugModel } from './debug/inference-model.js';
export type { DebugOptions } from './debug/open.js';
export { serveTinker } from './debug/tinker-server.js';
export { renderWorkflowDebug } from './debug/render.js';
export type { WorkflowDebugReport } from './debug/report.js';
export { debugWorkflow, type DebugWorkflowOptions } from './debug/workflow.js';
export { diagnoseRun, renderDiagnosis } from './report/diagnose-run.js';
export {
  compareEvaluations,
  isEvaluation,
  unmetExpectations,
} from './report/compare-evaluations.js';
export { evaluateModel } from './report/evaluate-model.js';
export { evaluateRun, renderEvaluation, type Evaluation } from './report/evaluate-run.js';
export { renderComparisons, renderJUnit, renderMarkdown } from './report/render-evaluation.js';
export { whatIfRun, type StoreWhatIf } from './report/what-if-run.js';
export { renderWhatIf } from './report/render-what-if.js';
export { renderAnswers } from './report/render-answers.js';
export { renderEnd, renderMetric, renderReport } from './report/render.js';
export { reportRun } from './report/run-report.js';
export { renderStoryPage } from './story/page.js';
export { readStory } from './story/read-story.js';
export { renderStory } from './story/render.js';
export { shellPath } from './studio/story/actions.js';
export { renderVerification } from './verify/render.js';
export { verifyRun } from './verify/verify.js';
export { causesOf, type CauseLink } from './status/causes.js';
export { openStatus, type StatusReader } from './status/read-status.js';
export { renderCauses, renderStatus } from './status/render-status.js';
export type { MemberStatus, RunStatus } from './status/run-status.js';
export { debugFiles } from './debug/files.js';
export { openRollouts, type Rollouts } from './debug/rollouts.js';
