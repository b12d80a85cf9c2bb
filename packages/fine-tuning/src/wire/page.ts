/**
 * Splits lists into pages. A page has at most `limit` items, which follow the item with the id
 * `after`.
 */
import { refused } from './refuse.js';

export interface Page<T> {
  readonly object: 'list';
  readonly data: readonly T[];
  readonly has_more: boolean;
  readonly first_id: string | null;
  readonly last_id: string | null;
}

const mostItems = 100;

/**
 * Returns the requested page of a list.
 * @param all all items of the list, in order
 * @throws ModelError 400 if `limit` is out of range or `after` is unknown
 */
export function pageOf<T extends { readonly id: string }>(
  all: readonly T[],
  query: URLSearchParams,
  { most = mostItems, usual = 20 } = {},
): Page<T> {
  const limit = Number(query.get('limit') ?? usual);
  if (!Number.isInteger(limit) || limit < 1 || limit > most)
    throw refused(`limit is "${query.get('limit')}". Expected a whole number from 1 to ${most}.`, {
      param: 'limit',
    });
  const after = query.get('after');
  const before = after === null ? -1 : all.findIndex(({ id }) => id === after);
  if (after !== null && before < 0)
    throw refused(`after is "${after.slice(0, 100)}", which is not in this list.`, {
      param: 'after',
    });
  const data = all.slice(before + 1, before + 1 + limit);
  return {
    object: 'list',
    data,
    has_more: before + 1 + limit < all.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}
