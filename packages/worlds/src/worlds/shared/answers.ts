/** Does a text say what is expected? */

/** Compares words and numbers in their order, whatever stands around them. */
export function saysAnswer(text: string, expected: string): boolean {
  const words = (value: string) =>
    ` ${(value.toLowerCase().match(/[\p{L}\p{N}]+(?:[.:][\p{N}]+)*/gu) ?? []).join(' ')} `;
  return expected !== '' && words(text).includes(words(expected));
}
