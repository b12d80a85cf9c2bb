/** Stores recorded turns, and finds the turns of a conversation. */
import { isPrefill } from '../format/prompt.js';
import type { NormalMessage } from '../messages/messages.js';
import { callIds, messageSteps } from './message-key.js';

/** Position after a prefix of a conversation; equal prefixes in a rollout share one position. */
export interface Place {
  /** Places by the {@link messageSteps} of the next message; undefined if there are none yet. */
  next: Map<string, Place> | undefined;
  /** The turns that were sampled from exactly the messages before this place. */
  readonly turns: Turn[];
}

/** The part of a prompt that the ledger stores. */
export interface PromptRecord {
  /** Position after the messages of the prompt. */
  readonly place: Place;
  /** Key of the tools and template switches with which the prompt was rendered. */
  readonly options: string;
  readonly ids: Int32Array;
  /** The messages, with placeholders for recorded turns. */
  readonly rendered: readonly NormalMessage[];
  /** Text of the rendered messages. */
  readonly text: string;
}

/** A finished turn. */
export interface RecordedTurn {
  /** The message as the client received it, with the ids of its tool calls. */
  readonly message: NormalMessage;
  readonly completion: Int32Array;
  /** True if the token limit ended the turn, so that it has no stop token. */
  readonly truncated: boolean;
  /** The recorder's number for the turn; returned as {@link LedgerPrompt.continues}. */
  readonly call?: number;
}

export interface Turn extends RecordedTurn {
  readonly prompt: PromptRecord;
  readonly messageKey: string;
  /** True if the tokens contain reasoning and the end of its think block. */
  readonly thinks: boolean;
}

/** An assistant message, with the turns that were sampled from exactly the messages before it. */
export interface Point {
  readonly index: number;
  readonly message: NormalMessage;
  readonly messageKey: string;
  readonly candidates: readonly Turn[];
}

export interface Path {
  /** The place after all messages. */
  readonly place: Place;
  readonly points: readonly Point[];
}

/** The turns of one rollout. */
export interface TurnStore {
  add(turn: Turn): void;
  /** The places before the first message, one per generation, older turns first. */
  roots(): readonly Place[];
  /**
   * Follows a conversation. The points of the path are the finished assistant messages; a prefill
   * is not finished.
   */
  walk(messages: readonly NormalMessage[]): Path;
  /**
   * Returns true if a turn at any place has the same message as `point`, or made the same calls.
   */
  knows(point: Point): boolean;
}

/** The turns of successive prompts. */
interface Generation {
  readonly root: Place;
  readonly known: Set<string>;
}

/**
 * Creates a store. It forgets a whole generation of turns at once, which also removes the places
 * without turns that failed calls leave behind.
 * @param keptPrompts number of most recent prompts whose turns are always kept; a turn is forgotten
 * after at most twice as many prompts
 */
export function createTurnStore(keptPrompts = Infinity): TurnStore {
  let generations: readonly Generation[] = [newGeneration()];
  let prompts = 0;
  const roots = (): readonly Place[] => generations.map(({ root }) => root);
  return {
    roots,
    add: (turn) => {
      turn.prompt.place.turns.push(turn);
      generations.at(-1)?.known.add(turn.messageKey).add(callIds(turn.message));
    },
    walk: (messages) => {
      if (++prompts % keptPrompts === 0) generations = [...generations.slice(-1), newGeneration()];
      const end = isPrefill(messages.at(-1)) ? messages.length - 1 : messages.length;
      const points: Point[] = [];
      let places = roots();
      messages.forEach((message, index) => {
        const steps = messageSteps(message);
        if (message.role === 'assistant' && index < end)
          points.push({ index, message, messageKey: steps[0]!, candidates: turnsAt(places) });
        places = placesAfter(places, steps);
      });
      return { place: places.at(-1)!, points };
    },
    knows: ({ messageKey, message }) =>
      generations.some(
        ({ known }) =>
          known.has(messageKey) ||
          (message.tool_calls !== undefined && known.has(callIds(message))),
      ),
  };
}

const newGeneration = (): Generation => ({ root: newPlace(), known: new Set() });

const newPlace = (): Place => ({ next: undefined, turns: [] });

/** Turns that were sampled at the places, older turns first. */
export const turnsAt = (places: readonly Place[]): readonly Turn[] =>
  places.flatMap(({ turns }) => turns);

/** Positions after a message with these {@link messageSteps}. */
export const placesAfter = (places: readonly Place[], steps: readonly string[]): readonly Place[] =>
  places.map((place) => steps.reduce(placeAfter, place));

/** Next position, which is created if it does not exist. */
function placeAfter(before: Place, key: string): Place {
  const known = before.next?.get(key);
  if (known) return known;
  const place = newPlace();
  (before.next ??= new Map()).set(key, place);
  return place;
}
