export { createServeClient } from './client.js';
export type { FeedbackOptions, OpenAISettings, ServeClient, ServeClientOptions } from './client.js';
export { createCommit, type Commit, type CommitOptions, type CommitResult } from './commit.js';
export { createServe, type Serve, type ServeOptions } from './serve.js';
export type { SessionLimits, SessionModel } from './sessions.js';
export { openTurnStore, type OpenTurnStoreOptions } from './turns/open-turn-store.js';
export type {
  Batch,
  Feedback,
  FeedbackResult,
  RewardedCall,
  ServedCall,
  TurnCounts,
  TurnStore,
} from './turns/turn-store.js';
