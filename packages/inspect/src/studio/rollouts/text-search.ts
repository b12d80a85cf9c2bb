/** Finds rows by what was read or written: texts stay in the store, and are read for every search. */
import type { ExperienceReader } from '@trinity-rft/buffer';
import type { Tokenizer } from '@trinity-rft/chat';
import { decodeExperience } from '@trinity-rft/core/store';
import { searchText } from './texts.js';

export interface TextSearch {
  /** Positions of rows that were found so far, in the order of the candidates. */
  readonly found: readonly number[];
  /** Candidates that were looked at. */
  readonly done: number;
  readonly of: number;
  /** Continues in the background while requests come; resolves when done or after `ms`. */
  run(ms: number): Promise<void>;
}

export interface TextSearchOptions {
  readonly reader: Pick<ExperienceReader, 'bytesOf'>;
  /** Positions, in the order in which they are looked at. */
  readonly candidates: Uint32Array;
  readonly idAt: (position: number) => number;
  readonly text: string;
  /** For records without texts of their own. */
  readonly tokenizer: () => Promise<Tokenizer | undefined>;
}

/** Between two pauses, in which other requests run. */
const sliceMs = 8;
/** A list without requests is not searched further. */
const patienceMs = 3000;

export function textSearch(options: TextSearchOptions): TextSearch {
  const { candidates, idAt, reader } = options;
  const found: number[] = [];
  let done = 0;
  let until = 0;
  let working: Promise<void> | undefined;

  const work = async (): Promise<void> => {
    const matches = matcher(options.text, await options.tokenizer());
    while (done < candidates.length && performance.now() < until) {
      const pause = performance.now() + sliceMs;
      while (done < candidates.length && performance.now() < pause) {
        const position = candidates[done++] ?? 0;
        const bytes = reader.bytesOf(idAt(position));
        if (bytes && matches(bytes)) found.push(position);
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
 * Bytes of a record are looked at as they are before anything is decoded, which is thirty times as
 * fast; that they hold the text is necessary, not sufficient. A record without its texts is decoded.
 */
function matcher(text: string, tokenizer: Tokenizer | undefined): (bytes: Uint8Array) => boolean {
  const wanted = text.toLowerCase();
  // oxlint-disable-next-line no-control-regex -- Whether it is ASCII.
  const encoding = /^[\u0000-\u007f]*$/.test(wanted) ? 'latin1' : 'utf8';
  return (given) => {
    const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
    const holds = bytes.toString(encoding).toLowerCase().includes(wanted);
    if (!holds && hasTexts(bytes)) return false;
    return searchText(decodeExperience(given), tokenizer).includes(wanted);
  };
}

/** Calls that were merged have the texts of the first prompt and the last response only. */
const hasTexts = (bytes: Buffer): boolean =>
  bytes.includes('promptText') && bytes.includes('responseText') && !bytes.includes('spans');
