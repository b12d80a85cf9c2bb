/** Stores the responses of one rollout, and all of their items by id, for the Responses API. */
import type { RouteContext } from '../shared/route.js';
import type { FinishedResponse } from './events.js';
import type { Item } from './items.js';

export interface StoredResponse extends FinishedResponse {
  /** Index of the recorded call that produced the response. */
  readonly callIndex: number;
  /** Response that this response continues. */
  readonly previous?: StoredResponse;
  /** Items of the request. */
  readonly input: readonly Item[];
  readonly output: readonly Item[];
}

/** Stored responses of one rollout, kept until the rollout ends. */
export interface ResponseStore {
  add(response: StoredResponse): void;
  get(id: string): StoredResponse | undefined;
  item(id: string): Item | undefined;
  /**
   * Deletes a response. Returns false for an unknown id. Later responses keep their link to the
   * deleted response.
   */
  delete(id: string): boolean;
}

export interface ResponsesContext extends RouteContext {
  readonly responses: ResponseStore;
}

export function createResponseStore(): ResponseStore {
  const responses = new Map<string, StoredResponse>();
  const items = new Map<string, Item>();
  const idOf = ({ wire }: Item): string | undefined =>
    typeof wire['id'] === 'string' ? wire['id'] : undefined;
  return {
    add: (response) => {
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
    get: (id) => responses.get(id),
    item: (id) => items.get(id),
    delete: (id) => responses.delete(id),
  };
}

/** Returns all items up to and including those of `response`, oldest first. */
export function conversationOf(response: StoredResponse | undefined): readonly Item[] {
  const parts: (readonly Item[])[] = [];
  for (let at = response; at; at = at.previous) parts.push(at.output, at.input);
  return parts.toReversed().flat();
}
