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

/** All turns of one rollout. */
export interface TurnStore {
  add(turn: Turn): void;
  /** The place before the first message. */
  readonly root: Place;
  /**
   * Follows a conversation. The points of the path are the finished assistant messages; a prefill
   * is not finished.
   */
  walk(messages: readonly NormalMessage[]): Path;
  /** True if a turn at any place has this message or made these calls. */
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

/** Next position, which is created if it does not exist. */
export function placeAfter(before: Place, key: string): Place {
  const known = before.next?.get(key);
  if (known) return known;
  const place = newPlace();
  (before.next ??= new Map()).set(key, place);
  return place;
}
