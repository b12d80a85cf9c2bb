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
  /** Mean of the scores. */
  readonly score: number;
  /** Names of the scores, as text for comparison. */
  readonly names: string;
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
   * @throws TaskError from `fault` if the conversation has no such score or response
   */
  add(conversation: Conversation, place: Place): void;
  /** Returns one entry per prompt. */
  pairs(): Iterable<ScoredPair<Place>>;
}

interface ScoredPair<Place> {
  /** Undefined if all scores are equal. */
  readonly pair?: Preference;
  /** Place of the first response. */
  readonly place: Place;
  /** True if the two responses have scores of different names, whose means say little. */
  readonly isUnlike: boolean;
}

/**
 * Creates a collector of scored responses, which keeps the best and the worst response to each
 * prompt in memory.
 * @param name name of the score that counts. @default the mean of all scores
 */
export function createPairing<Place>(name?: string): Pairing<Place> {
  const byPrompt = new Map<string, Candidates<Place>>();
  return {
    add({ messages, tools, scores = [] }, place) {
      const own = scores.filter((one) => name === undefined || one.name === name);
      if (own.length === 0)
        throw fault(
          `the answer has no score${name === undefined ? '' : ` ${name}`}, and so no pair`,
          scores.length === 0 ? undefined : scores.map((one) => one.name),
        );
      const score = own.reduce((sum, { value }) => sum + value, 0) / own.length;
      const names = JSON.stringify([...new Set(own.map((one) => one.name))].toSorted());
      const end = messages.findLastIndex(({ role }) => role === 'user') + 1;
      if (end === 0 || messages.at(-1)?.role !== 'assistant')
        throw fault('the conversation has no answer to a message of the user');
      const prompt = messages.slice(0, end);
      const key = hashOf(JSON.stringify([prompt, tools]));
      const answer = { messages: messages.slice(end), score, names };
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
        const isUnlike = best.names !== worst.names;
        yield { ...(best.score > worst.score && { pair }), place, isUnlike };
      }
    },
  };
}
