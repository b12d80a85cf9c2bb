/** Stores the responses of one rollout, and all of their items by id, for the Responses API. */
import type { RouteContext } from '../shared/route.js';
import type { FinishedResponse } from './events.js';
import type { Item } from './items.js';

export interface StoredResponse extends FinishedResponse {
  /** Index of the recorded call that produced the response. */
  readonly callIndex: number;
  /** Response whose conversation this response continues. */
  readonly previous?: StoredResponse;
  /** Input items of the request that led to this response. */
  readonly input: readonly Item[];
  readonly output: readonly Item[];
}

/** Stored responses of one rollout, all of them by default, kept until the rollout ends. */
export interface ResponseStore {
  add(response: StoredResponse): void;
  get(id: string): StoredResponse | undefined;
  item(id: string): Item | undefined;
  /**
   * Deletes a response, with the items that no other stored response has. Returns false for an
   * unknown id. Responses that continue the deleted response keep their link to it.
   */
  delete(id: string): boolean;
  /** Forgets all responses that were added before the previous call of this function. */
  forgetEarlier(): void;
}

export interface ResponsesContext extends RouteContext {
  readonly responses: ResponseStore;
}

/** A group of consecutive responses that are dropped together, with their items, keyed by id. */
interface Generation {
  readonly responses: Map<string, StoredResponse>;
  /**
   * All items with the same id, because clients send items back. The first one counts: an output of
   * this endpoint, if there is one.
   */
  readonly items: Map<string, Item[]>;
}

export function createResponseStore(): ResponseStore {
  let generations: readonly Generation[] = [newGeneration()];
  return {
    add: (response) => {
      const { responses, items } = generations.at(-1)!;
      responses.set(response.body.id, response);
      for (const item of response.input) sameId(items, item)?.push(item);
      for (const item of response.output) sameId(items, item)?.unshift(item);
    },
    get: (id) => inFirst(generations, ({ responses }) => responses.get(id)),
    item: (id) => inFirst(generations, ({ items }) => items.get(id)?.[0]),
    delete: (id) => {
      for (const { responses, items } of generations) {
        const found = responses.get(id);
        if (!found) continue;
        responses.delete(id);
        for (const item of [...found.input, ...found.output]) {
          const same = sameId(items, item);
          same?.splice(same.indexOf(item), 1);
        }
        return true;
      }
      return false;
    },
    forgetEarlier: () => {
      generations = [...generations.slice(-1), newGeneration()];
    },
  };
}

const newGeneration = (): Generation => ({ responses: new Map(), items: new Map() });

/**
 * Returns the entry of the oldest generation that has one. The oldest is the original: an output
 * item is stored before later requests repeat it.
 */
function inFirst<T>(
  generations: readonly Generation[],
  find: (generation: Generation) => T | undefined,
): T | undefined {
  for (const generation of generations) {
    const found = find(generation);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the list of the items with the same id, or undefined for an item without one. */
function sameId(items: Generation['items'], { wire }: Item): Item[] | undefined {
  const id = wire['id'];
  if (typeof id !== 'string') return undefined;
  const same = items.get(id) ?? [];
  items.set(id, same);
  return same;
}

/** Returns the items of the conversation that ends with `response`, oldest first. */
export function conversationOf(response: StoredResponse | undefined): readonly Item[] {
  const parts: (readonly Item[])[] = [];
  for (let at = response; at; at = at.previous) parts.push(at.output, at.input);
  return parts.toReversed().flat();
}
