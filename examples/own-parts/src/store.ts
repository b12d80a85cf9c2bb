/**
 * Custom store driver: a journal of JSON lines. Each call that changes something is one line, and opening the journal
 * repeats the calls on rows in memory. A line that was cut off by a kill was never acknowledged, and is removed.
 */
import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { memoryRows, type RowDriver } from '@trinity-rft/buffer/driver';
import { BufferError } from '@trinity-rft/core';
import { decodeExperience, encodeExperience, type JsonState } from '@trinity-rft/core/store';

type Settled = Parameters<RowDriver['settle']>;

/** Call of the store as a line of JSON. Experiences are in base64, because their numbers are binary floats. */
type Call =
  | { readonly insert: readonly string[]; readonly state?: JsonState | undefined }
  | { readonly settle: Settled[0]; readonly use: Pick<Settled[1], 'trainStep' | 'at'> }
  | { readonly unsettle: number };

/**
 * Opens the journal.
 * @throws BufferError when another process has it open, or a line of it is damaged
 */
export function journalRows(file: string): RowDriver {
  mkdirSync(path.dirname(file), { recursive: true });
  const unlock = lock(file);
  const rows = memoryRows();
  let length = replay(file, rows);
  const journal = openSync(file, 'a');
  ftruncateSync(journal, length);

  /** Writes the line and applies the call. Removes the line if the call is refused, which then has changed nothing. */
  const keep = <T>(call: Call, apply: () => T): T => {
    try {
      const line = Buffer.from(`${JSON.stringify(call)}\n`);
      for (let done = 0; done < line.length;) done += writeSync(journal, line, done);
      const result = apply();
      fsyncSync(journal);
      length += line.length;
      return result;
    } catch (error) {
      ftruncateSync(journal, length);
      throw error;
    }
  };
  return {
    ...rows,
    insert: (batch, state) => {
      const insert = batch.map((one) => Buffer.from(encodeExperience(one)).toString('base64'));
      return keep({ insert, state }, () => rows.insert(batch, state));
    },
    settle: ({ used, stale }, use) => {
      const { trainStep, at } = use;
      keep({ settle: { used, stale }, use: { trainStep, at } }, () =>
        rows.settle({ used, stale }, use),
      );
    },
    unsettle: (trainStep) => keep({ unsettle: trainStep }, () => rows.unsettle(trainStep)),
    close: () => {
      closeSync(journal);
      unlock();
    },
  };
}

/**
 * Repeats the calls of the file.
 * @returns number of bytes of its complete lines
 */
function replay(file: string, rows: RowDriver): number {
  const text = readText(file);
  const complete = text.slice(0, text.lastIndexOf('\n') + 1);
  for (const [i, line] of complete.split('\n').slice(0, -1).entries())
    try {
      const call = JSON.parse(line) as Call;
      if ('insert' in call) rows.insert(call.insert.map(decode), call.state);
      else if ('settle' in call) rows.settle(call.settle, call.use);
      else if ('unsettle' in call) rows.unsettle(call.unsettle);
      else throw new TypeError(`expected insert, settle or unsettle, got ${line.slice(0, 40)}`);
    } catch (cause) {
      throw new BufferError(`${file}, line ${i + 1}: ${(cause as Error).message}`, {
        code: 'BUFFER_DAMAGED',
        cause,
      });
    }
  return Buffer.byteLength(complete);
}

const decode = (base64: string) => decodeExperience(Buffer.from(base64, 'base64'));

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

/** Lock file with the process id; the lock of a killed process is taken over. */
function lock(file: string): () => void {
  const name = `${file}.pid`;
  const owner = Number(readText(name));
  if (owner > 0 && isAlive(owner))
    throw new BufferError(`${file} is already open in process ${owner}; expected one owner.`, {
      code: 'BUFFER_LOCKED',
    });
  rmSync(name, { force: true });
  const handle = openSync(name, 'wx');
  writeSync(handle, String(process.pid));
  closeSync(handle);
  return () => rmSync(name, { force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
