/**
 * Builds preference pairs from scored responses: the best and the worst response to the same
 * prompt.
 */
import type { ChatMessage } from '@trinity-rft/core';
import { fault } from '../record/fault.js';
import type { Conversation, Preference } from '../record/item.js';
import { hashOf } from './hash.js';

interface Answer {
  readonly messages: readonly ChatMessage[];
  readonly score: number;
}

interface Candidates<Place> {
  readonly prompt: readonly ChatMessage[];
  readonly tools: Conversation['tools'];
  /** Place of the first response. */
  readonly place: Place;
  readonly best: Answer;
  readonly worst: Answer;
}

export interface Pairing<Place> {
  /**
   * Adds the conversation's last response as a candidate for the pair of its prompt.
   * @throws TaskError from `fault` if the conversation has no score or response
   */
  add(conversation: Conversation, place: Place): void;
  /**
   * Returns one entry per prompt, with the place of its first response. The pair is undefined if
   * all scores are equal.
   */
  pairs(): Iterable<readonly [Preference | undefined, Place]>;
}

/**
 * Creates a collector of scored responses, which keeps the best and the worst response to each
 * prompt in memory.
 */
export function createPairing<Place>(): Pairing<Place> {
  const byPrompt = new Map<string, Candidates<Place>>();
  return {
    add({ messages, tools, score }, place) {
      if (score === undefined) throw fault('the answer has no score, and so no pair');
      const end = messages.findLastIndex(({ role }) => role === 'user') + 1;
      if (end === 0 || messages.at(-1)?.role !== 'assistant')
        throw fault('the conversation has no answer to a message of the user');
      const prompt = messages.slice(0, end);
      const key = hashOf(JSON.stringify([prompt, tools]));
      const answer = { messages: messages.slice(end), score };
      const { best, worst, ...before } = byPrompt.get(key) ?? {
        ...{ prompt, tools, place },
        ...{ best: answer, worst: answer },
      };
      byPrompt.set(key, {
        ...before,
        best: score > best.score ? answer : best,
        worst: score < worst.score ? answer : worst,
      });
    },
    *pairs() {
      for (const { prompt, tools, place, best, worst } of byPrompt.values()) {
        const pair = { prompt, chosen: best.messages, rejected: worst.messages, tools };
        yield [best.score > worst.score ? pair : undefined, place];
      }
    },
  };
}
