/** What the Responses API of one rollout remembers: its responses, and every item in them by id. */
import type { ResponseBody } from './response.js';
import type { Item } from './items.js';

export interface StoredResponse {
  /** Of the recorded call. */
  readonly callIndex: number;
  readonly body: ResponseBody;
  /** The one it continues. */
  readonly previous?: StoredResponse;
  /** Sent with its request. */
  readonly input: readonly Item[];
  readonly output: readonly Item[];
}

/** Lives as long as its rollout. */
export interface ResponseStore {
  add(response: StoredResponse): void;
  get(id: string): StoredResponse | undefined;
  item(id: string): Item | undefined;
  /** Later responses still know what they continued. `false`: there is none with this id. */
  delete(id: string): boolean;
}

export function createResponseStore(): ResponseStore {
  const responses = new Map<string, StoredResponse>();
  const items = new Map<string, Item>();
  const remember = (item: Item, replace: boolean): void => {
    const { id } = item.wire;
    if (typeof id === 'string' && (replace || !items.has(id))) items.set(id, item);
  };
  return {
    add: (response) => {
      responses.set(response.body.id, response);
      // Ids of clients may be those of another process; what was written here goes first.
      for (const item of response.input) remember(item, false);
      for (const item of response.output) remember(item, true);
    },
    get: (id) => responses.get(id),
    item: (id) => items.get(id),
    delete: (id) => responses.delete(id),
  };
}

/** Everything said up to and with `response`, oldest first. */
export function conversationOf(response: StoredResponse | undefined): readonly Item[] {
  const parts: (readonly Item[])[] = [];
  for (let at = response; at; at = at.previous) parts.push(at.output, at.input);
  return parts.toReversed().flat();
}
