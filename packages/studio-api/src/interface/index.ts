export type {
  Curve,
  ListedRollout,
  MetricInfo,
  RolloutDetail,
  RolloutPage,
  RolloutRow,
  RunEvent,
  RunSummary,
  TokenDetail,
} from './types.js';
