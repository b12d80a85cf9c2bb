/** Models that can respond: checkpoints of runs, and a product that learns. */
import type {
  Checkpoint,
  ProductAnswer,
  SayRequest,
  Spoken,
} from '../../../src/control/interface/index.js';
import { act, actionPath, lines, messageOf } from '../../api.js';
import { words } from '../../words/playground.js';

export type Source =
  | { readonly kind: 'none' }
  | { readonly kind: 'checkpoint'; readonly run: string; readonly checkpoint: string }
  | { readonly kind: 'product' };

/** Run with those of its checkpoints that can be sampled. */
export interface Offer {
  readonly run: string;
  readonly checkpoints: readonly Checkpoint[];
}

/** Product that learns. Its API key is kept only in the memory of the page. */
export interface Product {
  readonly url: string;
  readonly apiKey: string;
}

export interface Token {
  readonly text: string;
  readonly logprob: number;
  readonly top: readonly { readonly text: string; readonly logprob: number }[];
}

export interface Answer {
  readonly text: string;
  readonly tokens: readonly Token[];
  /** Noun phrase shown after "Waiting for"; undefined while the response waits for nothing. */
  readonly waits?: string;
  readonly problem?: string;
  /** Prompt, rendered by the chat template. */
  readonly prompt?: { readonly text: string; readonly tokens: number; readonly template: string };
  /** Id of a product's response, to which feedback refers. */
  readonly id?: string;
  readonly isOver: boolean;
  readonly wasCut?: boolean;
}

export const nothingYet: Answer = { text: '', tokens: [], isOver: false };

/** Ends a response early. Says so if it has no text. */
export const stopped = (before: Answer): Answer => ({
  ...before,
  waits: undefined,
  problem: before.problem ?? (before.text === '' ? words.stopped : undefined),
  isOver: true,
});

export type Question = Omit<SayRequest, 'checkpoint'>;

/**
 * Sends a request to a source. Calls `onAnswer` with an update of the response whenever a part
 * arrives. The returned promise never rejects.
 */
export async function askSource(
  source: Source,
  question: Question,
  product: Product,
  signal: AbortSignal,
  onAnswer: (change: (before: Answer) => Answer) => void,
): Promise<void> {
  try {
    if (source.kind === 'product') await askProduct(question, product, signal, onAnswer);
    if (source.kind === 'checkpoint') {
      const { run, checkpoint } = source;
      const body = { ...question, checkpoint };
      for await (const part of lines<Spoken>(actionPath(run, 'say'), body, signal))
        onAnswer((before) => grown(before, part));
    }
  } catch (error) {
    if (signal.aborted) return onAnswer(stopped);
    onAnswer((before) => ({ ...before, problem: messageOf(error) }));
  }
  onAnswer((before) => ({ ...before, waits: undefined, isOver: true }));
}

function grown(before: Answer, part: Spoken): Answer {
  const rest = { ...before, waits: undefined };
  switch (part.kind) {
    case 'wait':
      return { ...before, waits: part.what };
    case 'prompt':
      return { ...rest, prompt: part };
    case 'text':
      return { ...rest, text: before.text + part.text };
    case 'end':
      return {
        ...rest,
        text: part.text,
        tokens: part.tokens,
        wasCut: part.stopReason === 'length',
      };
    case 'problem':
      return { ...rest, problem: part.problem };
  }
}

async function askProduct(
  { messages, temperature, maxTokens }: Question,
  product: Product,
  signal: AbortSignal,
  onAnswer: (change: (before: Answer) => Answer) => void,
): Promise<void> {
  const body = { ...product, messages, temperature, maxTokens };
  const answer = await act<ProductAnswer>('playground/ask', body, signal);
  onAnswer((before) => ({ ...before, ...answer }));
}
