export type { CheckOptions, CheckResult } from './check/check-export.js';
export type { Parity, Share } from './check/compare.js';
export { readPrompts } from './check/conversations.js';
export type { MergeLoss } from './check/merge-loss.js';
export type { PlayedPrompt } from './check/player.js';
export {
  exportModel,
  type ExportOptions,
  type ExportReport,
  type RewardComparison,
} from './export-model.js';
export { formatNamed, numberFormats, type FormatName } from './format/formats.js';
export { pushFolder, readPush, type PushOptions } from './push.js';
export { renderExport } from './render.js';
