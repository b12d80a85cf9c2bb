/** Recorded turns, and the walk of a conversation along them. */
import { isPrefill } from '../format/prompt.js';
import type { NormalMessage } from '../messages/messages.js';
import { callIds, messageSteps } from './message-key.js';

/** A conversation up to some message; equal conversations of a rollout share one place. */
export interface Place {
  /** Places by the {@link messageSteps} of the next message; undefined as long as there is none. */
  next: Map<string, Place> | undefined;
  /** Turns that were sampled from exactly the messages before this place. */
  readonly turns: Turn[];
}

/** The part of a prompt that the ledger stores. */
export interface PromptRecord {
  /** The end of its messages. */
  readonly place: Place;
  /** Tools and template switches it was rendered with. */
  readonly options: string;
  readonly ids: Int32Array;
  /** The messages, with placeholders for recorded turns. */
  readonly rendered: readonly NormalMessage[];
  /** Their rendering. */
  readonly text: string;
}

/** A finished turn. */
export interface RecordedTurn {
  /** The message as the client received it, with the ids of its tool calls. */
  readonly message: NormalMessage;
  readonly completion: Int32Array;
  /** Ended by the token limit, so without a stop token. */
  readonly truncated: boolean;
  /** The recorder's number for it; returned as {@link LedgerPrompt.continues}. */
  readonly call?: number;
}

export interface Turn extends RecordedTurn {
  readonly prompt: PromptRecord;
  readonly messageKey: string;
  /** True if the tokens hold reasoning, up to the end of its think block. */
  readonly thinks: boolean;
}

/** An assistant message, and the turns that were sampled from exactly the messages before it. */
export interface Point {
  readonly index: number;
  readonly message: NormalMessage;
  readonly messageKey: string;
  readonly candidates: readonly Turn[];
}

export interface Path {
  /** The end of all messages. */
  readonly place: Place;
  readonly points: readonly Point[];
}

/** Turns of one rollout. */
export interface TurnStore {
  add(turn: Turn): void;
  /** Before any message. */
  readonly root: Place;
  /** Points are the finished assistant messages: a prefill is none. */
  walk(messages: readonly NormalMessage[]): Path;
  /** True if any turn, at any place, has this message or made these calls. */
  knows(point: Point): boolean;
}

export function createTurnStore(): TurnStore {
  const root = newPlace();
  const known = new Set<string>();
  return {
    root,
    add: (turn) => {
      turn.prompt.place.turns.push(turn);
      known.add(turn.messageKey).add(callIds(turn.message));
    },
    walk: (messages) => {
      const end = isPrefill(messages.at(-1)) ? messages.length - 1 : messages.length;
      const points: Point[] = [];
      let place = root;
      messages.forEach((message, index) => {
        const steps = messageSteps(message);
        if (message.role === 'assistant' && index < end)
          points.push({ index, message, messageKey: steps[0]!, candidates: place.turns });
        place = steps.reduce(placeAfter, place);
      });
      return { place, points };
    },
    knows: (point) =>
      known.has(point.messageKey) ||
      (point.message.tool_calls !== undefined && known.has(callIds(point.message))),
  };
}

const newPlace = (): Place => ({ next: undefined, turns: [] });

/** Created when it does not exist. */
export function placeAfter(before: Place, key: string): Place {
  const known = before.next?.get(key);
  if (known) return known;
  const place = newPlace();
  (before.next ??= new Map()).set(key, place);
  return place;
}
