export { lastSaid, textBlocks, type BlockKind, type TextBlock } from './text-blocks.js';
export type {
  Attempt,
  Conversation,
  Group,
  RecordedCall,
  Segment,
  TaskHistory,
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
