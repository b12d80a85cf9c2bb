/** Fields of an answer in training data, under all the names that data sets give them. */

type Json = Readonly<Record<string, unknown>>;

/**
 * Returns the reasoning beside a content. `thinking` is the name of gpt-oss and Ollama,
 * `reasoning_details` is OpenRouter's list. Tables have empty texts under the names not used.
 */
export function reasoningOf(answer: Json): string | undefined {
  const { reasoning_content, reasoning, thinking, reasoning_details: details } = answer;
  const texts = itemsOf(details).map(({ text }) => (typeof text === 'string' ? text : ''));
  return [reasoning_content, reasoning, thinking, texts.join('')].find(
    (text): text is string => typeof text === 'string' && text !== '',
  );
}

/**
 * Returns what an answer gives as its weight: OpenAI's `weight`, or axolotl's `train` with 1 and 0
 * for true and false. The value is not checked.
 */
export function weightGiven({ weight, train }: Json): unknown {
  return weight ?? (typeof train === 'boolean' ? Number(train) : train) ?? undefined;
}

/** Returns true if an answer says which parts of it are trained, as with axolotl's `train_detail`. */
export function isTrainedInParts({ train_detail: detail, content }: Json): boolean {
  const isLeftOut = (part: Json): boolean => part['train'] === false || part['weight'] === 0;
  const hasDetail = Array.isArray(detail) ? detail.length > 0 : (detail ?? undefined) !== undefined;
  return hasDetail || itemsOf(content).some(isLeftOut);
}

const itemsOf = (list: unknown): readonly Json[] =>
  (Array.isArray(list) ? list : []).filter(
    (one: unknown): one is Json => typeof one === 'object' && one !== null,
  );
