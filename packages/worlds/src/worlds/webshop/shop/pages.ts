/** Pages of the shop, and their rendering as text. */
import type { Product } from './product.js';

/** One element of a page. A page is a list of parts in reading order. */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'button'; readonly text: string }
  | { readonly kind: 'product'; readonly text: string; readonly seen: boolean }
  | {
      readonly kind: 'option';
      readonly name: string;
      readonly text: string;
      readonly chosen: boolean;
    };

export const subPages = ['Description', 'Features', 'Reviews'] as const;
export type SubPage = (typeof subPages)[number];

export const buttons = {
  search: 'Search',
  back: 'Back to Search',
  previous: '< Prev',
  next: 'Next >',
  buy: 'Buy Now',
} as const;

const text = (value: string): Part => ({ kind: 'text', text: value });
const button = (value: string): Part => ({ kind: 'button', text: value });
const instructionParts = (instruction: string) => [text('Instruction:'), text(instruction)];

export const startPage = (instruction: string): readonly Part[] => [
  text('WebShop'),
  ...instructionParts(instruction),
  button(buttons.search),
];

export interface Results {
  readonly products: readonly Product[];
  readonly page: number;
  readonly total: number;
  /** Ids of the products that were opened. */
  readonly seen: ReadonlySet<string>;
}

export const resultsPage = (
  instruction: string,
  { products, page, total, seen }: Results,
): readonly Part[] => [
  ...instructionParts(instruction),
  button(buttons.back),
  text(`Page ${page} (Total results: ${total})`),
  ...(page > 1 ? [button(buttons.previous)] : []),
  button(buttons.next),
  ...products.flatMap(({ asin, title, priceTag }): readonly Part[] => [
    { kind: 'product', text: asin, seen: seen.has(asin) },
    text(title),
    text(priceTag),
  ]),
];

export const itemPage = (
  instruction: string,
  product: Product,
  chosen: Readonly<Record<string, string>>,
): readonly Part[] => [
  ...instructionParts(instruction),
  button(buttons.back),
  button(buttons.previous),
  ...Object.entries(product.options).flatMap(([name, values]) => [
    text(name),
    ...values.map((value): Part => ({
      kind: 'option',
      name,
      text: value,
      chosen: chosen[name] === value,
    })),
  ]),
  text(product.title),
  text(`Price: ${product.priceTag}`),
  text(`Rating: ${product.rating}`),
  ...subPages.map(button),
  button(buttons.buy),
];

export const subPageOf = (
  instruction: string,
  product: Product,
  page: SubPage,
): readonly Part[] => [
  ...instructionParts(instruction),
  button(buttons.back),
  button(buttons.previous),
  ...contentOf(product, page).map(text),
];

function contentOf(product: Product, page: SubPage): readonly string[] {
  if (page === 'Description') return [product.description];
  if (page === 'Features') return product.bulletPoints;
  return product.reviews.flatMap(({ title, score, body }) => [`"${title}"`, score, body]);
}

/** Renders a page with marks around clickable parts, after lines that name the chosen options. */
export function richText(parts: readonly Part[]): string {
  const clicked = parts.flatMap((part) =>
    part.kind === 'option' && part.chosen ? [`You have clicked ${part.text}.`] : [],
  );
  return [...clicked.toReversed(), ...parts.map(richLine)].join('\n');
}

function richLine(part: Part): string {
  if (part.kind === 'text') return part.text;
  if (part.kind === 'button') return `[button] ${part.text} [button_]`;
  const isClicked = part.kind === 'product' ? part.seen : part.chosen;
  const line = isClicked
    ? `[clicked button] ${part.text} [clicked button_]`
    : `[button] ${part.text} [button_]`;
  return part.kind === 'option' ? `  ${line}` : `\n${line}`;
}

/** Renders a page on one line, with `[SEP]` between its parts and without button markers. */
export const plainText = (parts: readonly Part[]): string =>
  parts.map((part) => part.text).join(' [SEP] ');

/** Returns the arguments that the action `click` accepts on the page, in lower case. */
export const clickablesOf = (parts: readonly Part[]): readonly string[] => [
  ...new Set(
    [
      ...parts.filter(({ kind }) => kind === 'button'),
      ...parts.filter(({ kind }) => kind === 'product'),
      ...parts.filter(({ kind }) => kind === 'option'),
    ].map((part) => part.text.toLowerCase()),
  ),
];
