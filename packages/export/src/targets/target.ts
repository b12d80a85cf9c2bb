/** What each target gets to write. */
import type { ChatFormat } from '@trinity-rft/chat';
import type { ChosenNumbers } from '../formats.js';
import type { RunFacts } from '../run-facts.js';

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
