/** HTML of which only the templates in this package are markup; every value is text. */

const kind: unique symbol = Symbol('markup');

export interface Markup {
  readonly [kind]: true;
  readonly text: string;
}

type Part = Markup | string | number | undefined | readonly Part[];

/** Values are escaped; lists are joined; undefined is nothing. */
export const markup = (strings: TemplateStringsArray, ...values: readonly Part[]): Markup => ({
  [kind]: true,
  text: strings.map((text, i) => `${text}${i < values.length ? textOf(values[i]) : ''}`).join(''),
});

function textOf(part: Part): string {
  if (part === undefined) return '';
  if (typeof part === 'object') return isMarkup(part) ? part.text : part.map(textOf).join('');
  return escaped(String(part));
}

const isMarkup = (part: Markup | readonly Part[]): part is Markup => kind in part;

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Control characters and lone surrogates, which HTML cannot represent, become a replacement sign. */
const escaped = (text: string): string =>
  text
    .replaceAll(/[\u{0}-\u{8}\u{b}\u{c}\u{e}-\u{1f}\u{7f}-\u{9f}\u{d800}-\u{dfff}]/gu, '\u{fffd}')
    .replaceAll(/[&<>"']/g, (sign) => entities[sign] ?? sign);
