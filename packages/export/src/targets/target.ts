/** Input and result of the functions that write each format. */
import type { ChatFormat } from '@trinity-rft/chat';
import type { ChosenNumbers } from '../format/formats.js';
import type { ChatSettings, RunFacts } from '@trinity-rft/local';

export interface TargetInput {
  /** Model folder of the checkpoint. */
  readonly from: string;
  /** PEFT folder if only the adapter is exported, otherwise undefined. */
  readonly adapter: string | undefined;
  /** Empty folder to write into. */
  readonly folder: string;
  /** Display name; `fileNameOf` converts it for file names. */
  readonly name: string;
  readonly numbers: ChosenNumbers;
  /** Chat settings of training, with the template if it differs from the folder's own. */
  readonly chat: ChatSettings;
  /** Chat format of the checkpoint: its tokenizer, with the settings in `chat`. */
  readonly format: ChatFormat;
  readonly contextTokens: number;
  readonly facts: RunFacts | undefined;
  readonly signal: AbortSignal | undefined;
}

export interface Written {
  /** Path of the main file relative to the folder; `.` if the export is the folder as a whole. */
  readonly file: string;
  /** Sentences to show to the user. */
  readonly notes: readonly string[];
}
