/** Stores recorded turns, and finds the turns of a conversation. */
import { isPrefill } from '../format/prompt.js';
import type { NormalMessage } from '../messages/messages.js';
import { callIds, messageSteps } from './message-key.js';

/**
 * State of a conversation after some of its messages. Conversations of a rollout that begin with
 * the same messages share the places of these messages.
 */
export interface Place {
  /**
   * Places after the next message, keyed by the {@link messageSteps} of that message; undefined if
   * there are none yet.
   */
  next: Map<string, Place> | undefined;
  /** The turns that were sampled from exactly the messages before this place. */
  readonly turns: Turn[];
}

/** The part of a prompt that the ledger stores with a turn. */
export interface PromptRecord {
  /** Place after the messages of the prompt. */
  readonly place: Place;
  /** Key of the tools and template variables of the prompt. */
  readonly options: string;
  readonly ids: Int32Array;
  /** The messages, with placeholders for recorded turns. */
  readonly rendered: readonly NormalMessage[];
  /** The rendered messages as text. */
  readonly text: string;
}

/** A finished turn. */
export interface RecordedTurn {
  /** The message as the client received it, with the ids of its tool calls. */
  readonly message: NormalMessage;
  readonly completion: Int32Array;
  /** True if the token limit ended the turn, so that it has no stop token. */
  readonly truncated: boolean;
  /** Number that the recorder gives to the turn; {@link LedgerPrompt.continues} returns it. */
  readonly call?: number;
}

export interface Turn extends RecordedTurn {
  readonly prompt: PromptRecord;
  readonly messageKey: string;
  /** True if the completion contains reasoning, including the marker at its end. */
  readonly thinks: boolean;
}

/**
 * A finished assistant message of a conversation, with the recorded turns that it may be
 * (`candidates`): those that were sampled from exactly the messages before it.
 */
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
  /**
   * Returns the places before the first message, one per generation, oldest first. A generation
   * holds the turns of successive prompts and is forgotten as a whole.
   */
  roots(): readonly Place[];
  /**
   * Looks up a conversation. The points of the returned path are the assistant messages, except for
   * a prefill at the end, which is not finished.
   */
  walk(messages: readonly NormalMessage[]): Path;
  /**
   * Returns true if a turn at any place has the same message as `point`, or made the same calls.
   */
  knows(point: Point): boolean;
  /** Begins a generation, and forgets all but the one before it. */
  forgetEarlier(): void;
}

/** The turns of successive prompts, which are forgotten together. */
interface Generation {
  readonly root: Place;
  readonly known: Set<string>;
}

/**
 * Creates a store. It forgets a whole generation of turns at once, together with the places that
 * calls without a recorded turn (failed ones) have left.
 */
export function createTurnStore(): TurnStore {
  let generations: readonly Generation[] = [newGeneration()];
  const roots = (): readonly Place[] => generations.map(({ root }) => root);
  return {
    roots,
    add: (turn) => {
      turn.prompt.place.turns.push(turn);
      generations.at(-1)?.known.add(turn.messageKey).add(callIds(turn.message));
    },
    walk: (messages) => {
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
    forgetEarlier: () => {
      generations = [...generations.slice(-1), newGeneration()];
    },
  };
}

const newGeneration = (): Generation => ({ root: newPlace(), known: new Set() });

const newPlace = (): Place => ({ next: undefined, turns: [] });

/** Returns the turns that were sampled at the places, oldest first. */
export const turnsAt = (places: readonly Place[]): readonly Turn[] =>
  places.flatMap(({ turns }) => turns);

/**
 * Returns the places that follow the given places after a message with these {@link messageSteps}.
 */
export const placesAfter = (places: readonly Place[], steps: readonly string[]): readonly Place[] =>
  places.map((place) => steps.reduce(placeAfter, place));

/** Returns the next place for a key, which is created if it does not exist. */
function placeAfter(before: Place, key: string): Place {
  const known = before.next?.get(key);
  if (known) return known;
  const place = newPlace();
  (before.next ??= new Map()).set(key, place);
  return place;
}
