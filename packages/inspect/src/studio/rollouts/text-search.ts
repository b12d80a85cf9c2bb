/** Searches prompts and responses of rollouts. Reads them from the store for every search. */
import type { ExperienceReader } from '@trinity-rft/buffer';
import type { Tokenizer } from '@trinity-rft/chat';
import { decodeExperience } from '@trinity-rft/core/store';
import { searchText } from './texts.js';

export interface TextSearch {
  /** Rollouts found so far, in the order of the candidates. */
  readonly found: readonly number[];
  /** Number of candidates that were searched. */
  readonly done: number;
  readonly of: number;
  /**
   * Starts or continues the search. Resolves when the search is complete, or after `ms`
   * milliseconds, while the search continues in the background. The search stops if `run` is not
   * called again for a few seconds.
   */
  run(ms: number): Promise<void>;
}

export interface TextSearchOptions {
  readonly reader: Pick<ExperienceReader, 'bytesOf'>;
  /** Rollouts to search, in this order. */
  readonly candidates: Uint32Array;
  /** Ids of the rows of a rollout. */
  readonly idsOf: (rollout: number) => readonly number[];
  readonly text: string;
  /** Returns the tokenizer that decodes records without text; undefined if there is none. */
  readonly tokenizer: () => Promise<Tokenizer | undefined>;
}

/** Time in ms after which the search lets other requests run. */
const sliceMs = 8;
/** Time in ms after the last call of `run` at which a search stops. */
const patienceMs = 3000;

export function textSearch(options: TextSearchOptions): TextSearch {
  const { candidates, idsOf, reader } = options;
  const found: number[] = [];
  let done = 0;
  let until = 0;
  let working: Promise<void> | undefined;

  const work = async (): Promise<void> => {
    const matches = matcher(options.text, await options.tokenizer());
    while (done < candidates.length && performance.now() < until) {
      const pause = performance.now() + sliceMs;
      while (done < candidates.length && performance.now() < pause) {
        const rollout = candidates[done++] ?? 0;
        const isMatch = idsOf(rollout).some((id) => {
          const bytes = reader.bytesOf(id);
          return bytes !== undefined && matches(bytes);
        });
        if (isMatch) found.push(rollout);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  };

  return {
    found,
    get done() {
      return done;
    },
    of: candidates.length,
    run: async (ms) => {
      until = performance.now() + patienceMs;
      working ??= work().finally(() => (working = undefined));
      await Promise.race([working, new Promise((resolve) => setTimeout(resolve, ms))]);
    },
  };
}

/**
 * Returns a function that checks whether a record contains a string. It searches the bytes first,
 * because decoding them takes thirty times as long. It decodes only records whose bytes contain the
 * string, and records without texts.
 */
function matcher(text: string, tokenizer: Tokenizer | undefined): (bytes: Uint8Array) => boolean {
  const wanted = text.toLowerCase();
  // oxlint-disable-next-line no-control-regex -- It matches ASCII texts on purpose.
  const encoding = /^[\u0000-\u007f]*$/.test(wanted) ? 'latin1' : 'utf8';
  return (given) => {
    const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
    const holds = bytes.toString(encoding).toLowerCase().includes(wanted);
    if (!holds && hasTexts(bytes)) return false;
    return searchText(decodeExperience(given), tokenizer).includes(wanted);
  };
}

/**
 * Returns true if the encoded record contains the texts of all its tokens. Records of merged calls
 * do not: they only contain the first prompt and the last response.
 */
const hasTexts = (bytes: Buffer): boolean =>
  bytes.includes('promptText') && bytes.includes('responseText') && !bytes.includes('spans');
