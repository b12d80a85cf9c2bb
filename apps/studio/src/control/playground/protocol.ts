/** Messages between the studio and the process of a model. */
import type { SayRequest, Scored, Spoken } from '../interface/index.js';

export interface SpeakerStart {
  readonly kind: 'open';
  readonly folder: string;
  readonly threads: number;
}

export interface SayQuestion {
  readonly kind: 'say';
  readonly id: number;
  readonly request: Omit<SayRequest, 'checkpoint'>;
}

/** A recorded model call. */
export interface CallToScore {
  /** Id of the call's row in the store. */
  readonly id: number;
  readonly tokens: readonly number[];
  readonly promptLength: number;
  readonly temperature: number;
  /** Recorded log-probability of each response token; null for context tokens. */
  readonly recorded: readonly (number | null)[];
}

interface ScoreQuestion {
  readonly kind: 'score';
  readonly id: number;
  readonly calls: readonly CallToScore[];
}

export type Question = SayQuestion | ScoreQuestion;

/** Part of a response; the last part is `end` or `problem`. */
export type Part = Spoken | Scored;

interface SpeakerStop {
  readonly kind: 'stop';
  readonly id: number;
}

export type ToSpeaker = SpeakerStart | Question | SpeakerStop;

export type FromSpeaker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly problem: string }
  | { readonly kind: 'said'; readonly id: number; readonly part: Part };
