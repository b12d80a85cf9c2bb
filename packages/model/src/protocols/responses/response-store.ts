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

/**
 * A group of consecutive responses that are dropped together, with their items. Both are keyed by
 * id.
 */
interface Generation {
  readonly responses: Map<string, StoredResponse>;
  readonly items: Map<string, Item>;
}

export function createResponseStore(): ResponseStore {
  let generations: readonly Generation[] = [newGeneration()];
  return {
    add: (response) => {
      const { responses, items } = generations.at(-1)!;
      responses.set(response.body.id, response);
      // An input item may have an id that another process has created. Ids of this endpoint's
      // output take precedence.
      for (const item of response.input) {
        const id = idOf(item);
        if (id !== undefined && !items.has(id)) items.set(id, item);
      }
      for (const item of response.output) {
        const id = idOf(item);
        if (id !== undefined) items.set(id, item);
      }
    },
    get: (id) => inFirst(generations, ({ responses }) => responses.get(id)),
    item: (id) => inFirst(generations, ({ items }) => items.get(id)),
    delete: (id) => {
      const found = inFirst(generations, ({ responses }) => responses.get(id));
      if (!found) return false;
      for (const { responses } of generations) responses.delete(id);
      const stored = generations.flatMap(({ responses }) => [...responses.values()]);
      // Clients send items back, so that another response may have an item with the same id.
      const others = new Map(
        stored.toReversed().flatMap((one) => ownItems(one).map((item) => [idOf(item), item])),
      );
      for (const item of ownItems(found)) {
        const itemId = idOf(item) ?? '';
        const other = others.get(itemId);
        for (const { items } of generations) {
          if (items.get(itemId) !== item) continue;
          if (other) items.set(itemId, other);
          else items.delete(itemId);
        }
      }
      return true;
    },
    forgetEarlier: () => {
      generations = [...generations.slice(-1), newGeneration()];
    },
  };
}

const ownItems = ({ input, output }: StoredResponse): readonly Item[] => [...input, ...output];

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

const idOf = ({ wire }: Item): string | undefined =>
  typeof wire['id'] === 'string' ? wire['id'] : undefined;

/** Returns the items of the conversation that ends with `response`, oldest first. */
export function conversationOf(response: StoredResponse | undefined): readonly Item[] {
  const parts: (readonly Item[])[] = [];
  for (let at = response; at; at = at.previous) parts.push(at.output, at.input);
  return parts.toReversed().flat();
}
