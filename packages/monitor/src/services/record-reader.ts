/** Reads `metrics.jsonl` in pieces while it is being written. */
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import type { MetricRecord } from '@trinity-rft/core';
import { tryJson } from '@trinity-rft/core/support';
import type { MetricLine } from '../lines/metric-lines.js';

export interface RecordReader {
  /**
   * Returns the next records: those in about `pieceBytes` of the file. Returns an empty list at the
   * end of the file.
   */
  read(): readonly MetricRecord[];
}

const pieceBytes = 256 * 1024;

export function recordReader(file: string): RecordReader {
  let position = 0;
  let rest = Buffer.alloc(0);

  const readPiece = (): Buffer => {
    const piece = Buffer.alloc(pieceBytes);
    const descriptor = openSync(file, 'r');
    try {
      return piece.subarray(0, readSync(descriptor, piece, 0, pieceBytes, position));
    } finally {
      closeSync(descriptor);
    }
  };

  return {
    read: () => {
      if (!existsSync(file)) return [];
      for (;;) {
        const piece = readPiece();
        if (piece.length === 0) return [];
        position += piece.length;
        const text = Buffer.concat([rest, piece]);
        const end = text.lastIndexOf('\n') + 1;
        rest = Buffer.from(text.subarray(end));
        const records = text
          .subarray(0, end)
          .toString('utf8')
          .split('\n')
          .flatMap((line) => recordOf(line));
        if (records.length > 0) return records;
      }
    },
  };
}

/**
 * Parses a line. Returns the record in a list, or an empty list if the line is not a record. Omits
 * values that were not finite.
 */
function recordOf(line: string): readonly MetricRecord[] {
  const read = tryJson(line) as MetricLine | null | undefined;
  if (!read) return [];
  const { role, step, metrics, timing } = read;
  const numbers = Object.entries({ ...metrics, ...timing }).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number',
  );
  return [{ role, step, metrics: Object.fromEntries(numbers) }];
}
