/** Lines of a file, plain or gzipped, in constant memory. */
import { createReadStream } from 'node:fs';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

export interface Line {
  /** From 1. */
  readonly number: number;
  /** Excludes the line end and a byte order mark. Undefined for a line that cannot be read. */
  readonly text?: string;
  /** Why the line cannot be read. */
  readonly problem?: string;
}

/** Bytes of a line, of which a process holds a few copies. */
const longestLine = 2 ** 26;

/**
 * Splits at line feeds only: JSON strings may hold the other characters that Unicode calls line ends.
 * @param onBytes called with the bytes that are read from the file
 */
export async function* readLines(
  file: string,
  onBytes: (count: number) => void,
): AsyncGenerator<Line> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let number = 0;
  let pending: Buffer[] = [];
  let length = 0;
  const add = (part: Buffer): void => {
    length += part.length;
    if (length > longestLine) pending = [];
    else pending.push(part);
  };
  const take = (): Line => {
    const [bytes, tooLong] = [Buffer.concat(pending), length > longestLine];
    [pending, length] = [[], 0];
    number++;
    if (tooLong) return { number, problem: `the line is longer than ${longestLine} bytes` };
    try {
      return { number, text: decoder.decode(bytes).replace(/\r$/, '') };
    } catch {
      return { number, problem: 'the line is not UTF-8' };
    }
  };
  for await (const chunk of openBytes(file, onBytes) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      add(chunk.subarray(start, end));
      yield take();
      start = end + 1;
    }
    if (start < chunk.length) add(chunk.subarray(start));
  }
  if (length > 0) yield take();
}

function openBytes(file: string, onBytes: (count: number) => void): Readable {
  const bytes = createReadStream(file, { highWaterMark: 2 ** 20 });
  bytes.on('data', (chunk) => onBytes(chunk.length));
  // `pipeline` needs a callback; the error itself reaches the reader of the unzipped stream.
  return /\.gz$/i.test(file) ? pipeline(bytes, createGunzip(), () => undefined) : bytes;
}
