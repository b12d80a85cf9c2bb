/** What the studio and the process of a model say to each other. */
import type { SayRequest, Spoken } from '../interface/index.js';

export interface SpeakerStart {
  readonly kind: 'open';
  readonly folder: string;
  readonly threads: number;
}

export interface SpeakerAsk {
  readonly kind: 'say';
  readonly id: number;
  readonly request: Omit<SayRequest, 'checkpoint'>;
}

interface SpeakerStop {
  readonly kind: 'stop';
  readonly id: number;
}

export type ToSpeaker = SpeakerStart | SpeakerAsk | SpeakerStop;

export type FromSpeaker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly problem: string }
  | { readonly kind: 'said'; readonly id: number; readonly part: Spoken };
