/** Loads the tokenizer of a run, which may be written while the run is open. */
import { loadTokenizer, type Tokenizer } from '@trinity-rft/chat';

/**
 * Returns a function that loads the tokenizer in a folder once, and returns it. While there is no
 * folder, each call looks for it again; concurrent calls share one attempt.
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
