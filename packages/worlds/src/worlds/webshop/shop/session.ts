/** One visit to the shop, with the current page and the effects of actions. */
import {
  buttons,
  clickablesOf,
  itemPage,
  type Part,
  resultsPage,
  startPage,
  type SubPage,
  subPageOf,
  subPages,
} from './pages.js';
import type { Goal, Product } from './product.js';
import { type Nouns, purchaseReward } from './reward.js';
import type { SearchIndex } from './search.js';

/** Data shared by all visits. */
export interface Shop {
  readonly products: ReadonlyMap<string, Product>;
  readonly index: SearchIndex;
  readonly nouns: Nouns;
}

export type ShopAction = { readonly name: string; readonly argument: string };

export interface Visit {
  parts(): readonly Part[];
  hasSearchBar(): boolean;
  /**
   * Performs an action on the current page.
   * @returns the reward of a purchase, which ends the visit, otherwise undefined
   */
  act(action: ShopAction): number | undefined;
  /** Returns a string that identifies the visit's state: the page shown and the chosen options. */
  key(): string;
}

type Place =
  | { readonly at: 'start' }
  | { readonly at: 'results'; readonly query: string; readonly page: number }
  | { readonly at: 'item' | SubPage; readonly item: Item };

interface Item {
  readonly product: Product;
  readonly query: string;
  readonly page: number;
  readonly options: Readonly<Record<string, string>>;
}

const resultCount = 50;
const pageSize = 10;

/** Parses `search[red shoes]` and `click[buy now]`. The result is in lower case. */
export function readShopAction(text: string): ShopAction | undefined {
  const [, name, argument] = /^\s*(\w+)\[(.+)\]\s*$/s.exec(text) ?? [];
  if (name === undefined || argument === undefined) return undefined;
  return { name: name.toLowerCase(), argument: argument.trim().toLowerCase() };
}

/** Returns true if the action is possible on the current page. */
export const isPossible = (visit: Visit, { name, argument }: ShopAction): boolean =>
  name === 'search'
    ? visit.hasSearchBar() && argument !== ''
    : name === 'click' && argument !== 'search' && clickablesOf(visit.parts()).includes(argument);

export function visitShop({ products, index, nouns }: Shop, goal: Goal): Visit {
  let place: Place = { at: 'start' };
  const seen = new Set<string>();
  /** Current page; undefined until it is needed. */
  let shown: readonly Part[] | undefined;

  const pageParts = (): readonly Part[] => {
    if (place.at === 'start') return startPage(goal.instruction);
    if (place.at === 'results') {
      const found = index.search(place.query, resultCount);
      const onPage = found.slice((place.page - 1) * pageSize, place.page * pageSize);
      const results = { products: onPage, page: place.page, total: found.length, seen };
      return resultsPage(goal.instruction, results);
    }
    const { product, options } = place.item;
    return place.at === 'item'
      ? itemPage(goal.instruction, product, options)
      : subPageOf(goal.instruction, product, place.at);
  };

  const turnPage = (by: number) => {
    if (place.at === 'results') place = { ...place, page: place.page + by };
    else if (place.at === 'item') {
      const { query, page } = place.item;
      place = { at: 'results', query, page };
    } else if (place.at !== 'start') place = { at: 'item', item: place.item };
  };

  const openItem = (asin: string) => {
    const product = products.get(asin);
    if (product === undefined || place.at !== 'results') return;
    seen.add(asin);
    place = { at: 'item', item: { product, query: place.query, page: place.page, options: {} } };
  };

  const choose = (value: string) => {
    if (place.at !== 'item') return;
    const { item } = place;
    const names = Object.entries(item.product.options).filter(([, values]) =>
      values.some((each) => each.toLowerCase() === value),
    );
    const [name, values] = names.at(-1) ?? [];
    const chosen = values?.find((each) => each.toLowerCase() === value);
    if (name === undefined || chosen === undefined) return;
    place = { at: 'item', item: { ...item, options: { ...item.options, [name]: chosen } } };
  };

  const click = (label: string): number | undefined => {
    const subPage = subPages.find((page) => page.toLowerCase() === label);
    if (label === buttons.back.toLowerCase()) {
      place = { at: 'start' };
      seen.clear();
    } else if (label === buttons.next.toLowerCase()) turnPage(1);
    else if (label === buttons.previous.toLowerCase()) turnPage(-1);
    else if (place.at === 'results') openItem(label.toUpperCase());
    else if (label === buttons.buy.toLowerCase() && place.at === 'item')
      return purchaseReward(place.item, goal, nouns);
    else if (subPage !== undefined && place.at === 'item')
      place = { at: subPage, item: place.item };
    else choose(label);
    return undefined;
  };

  return {
    parts: () => (shown ??= pageParts()),
    hasSearchBar: () => place.at === 'start',
    act: ({ name, argument }) => {
      shown = undefined;
      if (name === 'click') return click(argument);
      place = { at: 'results', query: argument, page: 1 };
      return undefined;
    },
    key: () =>
      JSON.stringify(
        'item' in place ? [place.at, { ...place.item, product: place.item.product.asin }] : place,
      ),
  };
}
