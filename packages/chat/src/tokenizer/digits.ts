type Step = Readonly<Record<string, unknown>>;

/**
 * Replaces the pre-tokenizer `Digits` with a `Split` that isolates all numeric characters (² and ½
 * too) as in Python, because `@huggingface/tokenizers` only isolates 0 to 9.
 * @see https://doc.rust-lang.org/std/primitive.char.html#method.is_numeric
 */
export function withAllDigits(preTokenizer: unknown): unknown {
  if (typeof preTokenizer !== 'object' || preTokenizer === null) return preTokenizer;
  const step = preTokenizer as Step;
  const { pretokenizers: inner } = step;
  if (Array.isArray(inner)) return { ...step, pretokenizers: inner.map(withAllDigits) };
  if (step['type'] !== 'Digits') return step;
  const pattern = {
    Regex: step['individual_digits'] === true ? String.raw`\p{N}` : String.raw`\p{N}+`,
  };
  return { type: 'Split', pattern, behavior: 'Isolated', invert: false };
}
