/** Input and result types of the functions that write the export formats. */
import type { ChatFormat } from '@trinity-rft/chat';
import type { ChosenNumbers } from '../format/formats.js';
import type { ChatSettings, RunFacts } from '@trinity-rft/local';

export interface TargetInput {
  /** Model folder of the checkpoint. */
  readonly from: string;
  /** PEFT folder of the adapter if only the adapter is exported, otherwise undefined. */
  readonly adapter: string | undefined;
  /** Empty folder to write into. */
  readonly folder: string;
  /** Display name of the model; `fileNameOf` converts it for file names. */
  readonly name: string;
  readonly numbers: ChosenNumbers;
  /**
   * Chat settings of training. They include the template if it differs from the folder's template.
   */
  readonly chat: ChatSettings;
  /** Chat format of the checkpoint, made of its tokenizer and the settings in `chat`. */
  readonly format: ChatFormat;
  /**
   * Content of generation_config.json: the checkpoint's, with the tokens that ended responses in
   * training and those of config.json. Empty if only the adapter is exported.
   */
  readonly generationConfig: Readonly<Record<string, unknown>>;
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
