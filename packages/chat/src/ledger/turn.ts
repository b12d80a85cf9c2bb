/** Recorded turns, and the walk of a conversation along them. */
import { continues } from '../format/chat-format.js';
import type { NormalMessage } from '../template/messages.js';
import { callIds, messageKey } from './message-key.js';

/** A conversation up to some message: equal conversations of a rollout are one place. */
export interface Place {
  /** By the {@link messageKey} of the message that comes next; undefined where none has come. */
  next: Map<string, Place> | undefined;
  /** Recorded for just the messages before it. */
  readonly turns: Turn[];
}

/** What is kept of a prompt. */
export interface PromptRecord {
  /** Where the messages that were asked end. */
  readonly place: Place;
  /** Tools and template switches it was rendered with. */
  readonly options: string;
  readonly ids: Int32Array;
  /** The messages with stand-ins for recorded turns. */
  readonly rendered: readonly NormalMessage[];
  /** Their rendering. */
  readonly text: string;
}

/** A finished turn. */
export interface RecordedTurn {
  /** The message the client was given; its tool calls carry their ids. */
  readonly message: NormalMessage;
  readonly completion: Int32Array;
  /** The token limit ended it, so it has no stop token. */
  readonly truncated: boolean;
  /** The recorder's own number for it: comes back as {@link LedgerPrompt.continues}. */
  readonly call?: number;
}

export interface Turn extends RecordedTurn {
  readonly prompt: PromptRecord;
  readonly messageKey: string;
  /** Whether the tokens hold the end of a think block. */
  readonly thinks: boolean;
}

/**
 * An assistant message of a conversation, and the turns recorded for just the messages before it.
 */
export interface Point {
  readonly index: number;
  readonly message: NormalMessage;
  readonly messageKey: string;
  readonly candidates: readonly Turn[];
}

export interface Path {
  /** Where all messages end. */
  readonly place: Place;
  readonly points: readonly Point[];
}

/** Turns of one rollout. */
export interface TurnStore {
  add(turn: Turn): void;
  /** Before any message. */
  readonly root: Place;
  /** A message to be continued is no finished turn and therefore no point. */
  walk(messages: readonly NormalMessage[]): Path;
  /** Whether some turn, wherever it stands, said this or made these calls. */
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
      const end = continues(messages.at(-1)) ? messages.length - 1 : messages.length;
      const points: Point[] = [];
      let place = root;
      messages.forEach((message, index) => {
        const own = messageKey(message);
        if (message.role === 'assistant' && index < end)
          points.push({ index, message, messageKey: own, candidates: place.turns });
        place = after(place, own);
      });
      return { place, points };
    },
    knows: (point) =>
      known.has(point.messageKey) ||
      (point.message.tool_calls !== undefined && known.has(callIds(point.message))),
  };
}

const newPlace = (): Place => ({ next: undefined, turns: [] });

/** Made when it is not there. */
export function after(before: Place, key: string): Place {
  const known = before.next?.get(key);
  if (known) return known;
  const place = newPlace();
  (before.next ??= new Map()).set(key, place);
  return place;
}
