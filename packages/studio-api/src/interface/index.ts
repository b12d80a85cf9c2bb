export type {
  Curve,
  ListedRollout,
  MetricInfo,
  RolloutDetail,
  RolloutPage,
  RolloutRow,
  RunEvent,
  RunNotes,
  RunSummary,
  TokenDetail,
} from './types.js';
