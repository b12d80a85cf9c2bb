/**
 * Returns true if the words and numbers of `expected` occur in `text` in this order without gaps.
 */
export function saysAnswer(text: string, expected: string): boolean {
  const words = (value: string) =>
    ` ${(value.toLowerCase().match(/[\p{L}\p{N}]+(?:[.:][\p{N}]+)*/gu) ?? []).join(' ')} `;
  return expected !== '' && words(text).includes(words(expected));
}
