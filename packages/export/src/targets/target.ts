/** Input and result of a target's writer. */
import type { ChatFormat } from '@trinity-rft/chat';
import type { ChosenNumbers } from '../format/formats.js';
import type { RunFacts } from '@trinity-rft/local';

export interface TargetInput {
  /** Model folder with merged weights. */
  readonly from: string;
  /** PEFT folder, for an export of the adapter alone. */
  readonly adapter: string | undefined;
  /** Empty folder to fill. */
  readonly folder: string;
  readonly name: string;
  readonly numbers: ChosenNumbers;
  /** The checkpoint's template and the parsers of training. */
  readonly format: ChatFormat;
  /** The template of training, where it is not the folder's own. */
  readonly chatTemplate: string | undefined;
  readonly usesTools: boolean;
  readonly contextTokens: number;
  readonly facts: RunFacts | undefined;
  readonly signal: AbortSignal | undefined;
}

export interface Written {
  /** Main file, relative to the folder; `.` for a folder as a whole. */
  readonly file: string;
  /** Sentences for the user. */
  readonly notes: readonly string[];
}
