/** Reads a plain or gzipped file in pieces, such as lines, with constant memory use. */
import { createReadStream } from 'node:fs';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

export interface Piece {
  /** Number of the piece in the file, starting at 1. */
  readonly number: number;
  /**
   * Text of the piece without the byte that ends it, a carriage return before that byte, or a byte
   * order mark. Undefined if the piece cannot be read.
   */
  readonly text?: string;
  /** Reason why the piece cannot be read. */
  readonly problem?: string;
}

/**
 * Returns the position at or after `from` of the byte that ends the current piece, or -1 if this
 * chunk does not contain it. The byte does not belong to a piece.
 */
export type FindEnd = (chunk: Buffer, from: number) => number;

/** Maximum size of a piece in bytes. A few copies of a piece are in memory at a time. */
const longestPiece = 2 ** 26;

const byteOrderMark = Buffer.of(0xef, 0xbb, 0xbf);

/** Finds line feeds. Ignores Unicode's other line ends, which JSON strings may contain. */
export const lineEnd: FindEnd = (chunk, from) => chunk.indexOf(10, from);

/**
 * Yields the pieces of a file.
 * @param what singular noun for a piece in problems, such as "line"
 * @param onBytes called with the number of bytes read from the file
 */
export async function* readPieces(
  file: string,
  { what, findEnd }: { readonly what: string; readonly findEnd: FindEnd },
  onBytes: (count: number) => void,
): AsyncGenerator<Piece> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let number = 0;
  let pending: Buffer[] = [];
  let length = 0;
  const add = (part: Buffer): void => {
    length += part.length;
    if (length > longestPiece) pending = [];
    else pending.push(part);
  };
  const take = (): Piece => {
    const [bytes, tooLong] = [Buffer.concat(pending), length > longestPiece];
    [pending, length] = [[], 0];
    number++;
    if (tooLong) return { number, problem: `the ${what} is longer than ${longestPiece} bytes` };
    try {
      return { number, text: decoder.decode(bytes).replace(/\r$/, '') };
    } catch {
      return { number, problem: `the ${what} is not UTF-8` };
    }
  };
  let isFirst = true;
  for await (const chunk of openBytes(file, onBytes) as AsyncIterable<Buffer>) {
    let start = isFirst && chunk.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? 3 : 0;
    isFirst = false;
    for (let end = findEnd(chunk, start); end >= 0; end = findEnd(chunk, start)) {
      add(chunk.subarray(start, end));
      yield take();
      start = end + 1;
    }
    if (start < chunk.length) add(chunk.subarray(start));
  }
  if (length > 0) yield take();
}

/**
 * Returns the first character that is neither white space nor a byte order mark, or undefined if
 * there is none.
 */
export async function firstCharacter(file: string): Promise<string | undefined> {
  for await (const chunk of openBytes(file, () => undefined) as AsyncIterable<Buffer>) {
    const found = /[^\s\u00ef\u00bb\u00bf]/.exec(chunk.toString('latin1'));
    if (found) return found[0];
  }
  return undefined;
}

function openBytes(file: string, onBytes: (count: number) => void): Readable {
  const bytes = createReadStream(file, { highWaterMark: 2 ** 20 });
  bytes.on('data', (chunk) => onBytes(chunk.length));
  // `pipeline` needs a callback; the error itself reaches the reader of the unzipped stream.
  return /\.gz$/i.test(file) ? pipeline(bytes, createGunzip(), () => undefined) : bytes;
}
