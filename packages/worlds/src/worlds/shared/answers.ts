/**
 * Returns true if `text` contains all words and numbers of `expected`, consecutively and in the
 * same order.
 */
export function saysAnswer(text: string, expected: string): boolean {
  const words = (value: string) =>
    ` ${(value.toLowerCase().match(/[\p{L}\p{N}]+(?:[.:][\p{N}]+)*/gu) ?? []).join(' ')} `;
  return expected !== '' && words(text).includes(words(expected));
}
