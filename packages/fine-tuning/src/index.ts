export {
  openFineTuningServer,
  type FineTuningServer,
  type FineTuningServerOptions,
} from './server.js';
export {
  baseModels,
  readBaseModels,
  type BaseModels,
  type ModelSettings,
} from './store/base-models.js';
export type { Command, CommandEnd, Restarts, StartCommand } from './run/job-run.js';
export type { WebhookSettings } from './run/webhook.js';
