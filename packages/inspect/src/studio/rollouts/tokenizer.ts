/** Loads the tokenizer of a run. The run may write the tokenizer only after it was opened. */
import { loadTokenizer, type Tokenizer } from '@trinity-rft/chat';

/**
 * Returns a function that loads the tokenizer from a folder, and keeps it. While there is no such
 * folder, the function returns undefined, and each call searches again. Concurrent calls share one
 * attempt.
 */
export function tokenizerIn(
  find: () => Promise<string | undefined>,
): () => Promise<Tokenizer | undefined> {
  let loaded: Tokenizer | undefined;
  let attempt: Promise<Tokenizer | undefined> | undefined;
  const load = async (): Promise<Tokenizer | undefined> => {
    const folder = await find();
    return folder === undefined ? undefined : loadTokenizer(folder);
  };
  return async () => {
    if (loaded !== undefined) return loaded;
    attempt ??= load().finally(() => (attempt = undefined));
    return (loaded ??= await attempt);
  };
}
