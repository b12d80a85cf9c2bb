/** HTML templates that escape every value, so that only the templates themselves are markup. */
import { escaped } from '../debug/visible.js';

const kind: unique symbol = Symbol('markup');

export interface Markup {
  readonly [kind]: true;
  readonly text: string;
}

type Part = Markup | string | number | undefined | readonly Part[];

/** Template tag for HTML: escapes values, joins lists, and renders undefined as an empty string. */
export const markup = (strings: TemplateStringsArray, ...values: readonly Part[]): Markup => ({
  [kind]: true,
  text: strings.map((text, i) => `${text}${i < values.length ? textOf(values[i]) : ''}`).join(''),
});

function textOf(part: Part): string {
  if (part === undefined) return '';
  if (typeof part === 'object') return isMarkup(part) ? part.text : part.map(textOf).join('');
  return escaped(representable(String(part)));
}

const isMarkup = (part: Markup | readonly Part[]): part is Markup => kind in part;

/** Replaces control characters and lone surrogates, which HTML cannot represent. */
const representable = (text: string): string =>
  text.replaceAll(
    /[\u{0}-\u{8}\u{b}\u{c}\u{e}-\u{1f}\u{7f}-\u{9f}\u{d800}-\u{dfff}]/gu,
    '\u{fffd}',
  );
