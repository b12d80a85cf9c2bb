/** Reads a plain or gzipped file in pieces, such as lines, in constant memory. */
import { createReadStream } from 'node:fs';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

export interface Piece {
  /** Number of the piece in the file, from 1. */
  readonly number: number;
  /**
   * Text of the piece, without its end byte, a carriage return before that byte, or a byte order
   * mark. Undefined if the piece is unreadable.
   */
  readonly text?: string;
  /** Reason why the piece cannot be read. */
  readonly problem?: string;
}

/**
 * Returns the position of the byte that ends the current piece, at or after `from`, or -1 if it is
 * not in this chunk. The byte is not a part of the piece.
 */
export type FindEnd = (chunk: Buffer, from: number) => number;

/** Maximum size of a piece in bytes. Memory holds a few copies of a piece. */
const longestPiece = 2 ** 26;

const byteOrderMark = Buffer.of(0xef, 0xbb, 0xbf);

/** Finds line feeds only: JSON strings may contain Unicode's other line ends. */
export const lineEnd: FindEnd = (chunk, from) => chunk.indexOf(10, from);

/**
 * Yields the pieces of a file.
 * @param what name of a piece in problems, such as "line"
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
 * First character that is neither white space nor a byte order mark; undefined if there is none.
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
