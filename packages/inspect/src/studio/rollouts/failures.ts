/**
 * Reads failed rollouts from the log. The store only has the failed rollouts that got the failure
 * reward.
 */
import { open, type FileHandle } from 'node:fs/promises';

export interface RunFailure {
  /** Error message from the log line, without the name of the rollout and the fields at the end. */
  readonly message: string;
  /** Number of failed attempts. */
  readonly attempts: number;
  /** True if the rollout's calls got the failure reward and are in the store. */
  readonly isRewarded: boolean;
}

export interface Failures {
  /**
   * Failures by `batch/task/run`. Reads the lines that were added to the log since the last call.
   */
  read(): Promise<ReadonlyMap<string, RunFailure>>;
}

const line = /^\w+ +\S+ Run (\S+) of workflow ".*?" failed(?: and (.*?))?: (.*)$/s;
/** Fields that the explorer adds to the line. */
const fields = / taskset=(?:"(?:[^"\\]|\\.)*"|[^\s"]+) row=\d+ attempt=\d+(?: times=\d+)?$/;
const chunkBytes = 1 << 20;
const longestMessage = 600;

/** Creates a reader of the failures in a log. The log need not exist. */
export function logFailures(file: string): Failures {
  const found = new Map<string, RunFailure>();
  let inode: number | undefined;
  /** Position up to which the file with this inode was read. */
  let place = 0;
  let rest = '';
  let reading: Promise<void> | undefined;

  const note = (text: string): void => {
    const [, run, then = '', message = ''] = line.exec(text) ?? [];
    if (run === undefined) return;
    found.set(run, {
      message: message.replace(fields, '').slice(0, longestMessage),
      attempts: (found.get(run)?.attempts ?? 0) + 1,
      isRewarded: then.includes('failure reward'),
    });
  };

  /** Reads the lines that were added to the file, or all lines of another file than before. */
  const readFrom = async (log: FileHandle | undefined): Promise<void> => {
    if (!log) return;
    const { ino, size } = await log.stat();
    if (ino !== inode || size < place) [inode, place, rest] = [ino, 0, ''];
    const buffer = Buffer.alloc(Math.min(chunkBytes, Math.max(1, size - place)));
    while (place < size) {
      const { bytesRead } = await log.read(buffer, 0, buffer.length, place);
      if (bytesRead === 0) break;
      place += bytesRead;
      const lines = (rest + buffer.toString('latin1', 0, bytesRead)).split('\n');
      rest = lines.pop() ?? '';
      for (const each of lines) note(Buffer.from(each, 'latin1').toString());
    }
  };
  const readOn = async (): Promise<void> => {
    await using log = await open(file).catch(() => undefined);
    const isSame = (await log?.stat())?.ino === inode;
    // A full log is renamed, so the lines before those of another file are in `.1`.
    await using earlier = isSame ? undefined : await open(`${file}.1`).catch(() => undefined);
    await readFrom(earlier);
    await readFrom(log);
  };

  return {
    read: async () => {
      reading ??= readOn().finally(() => (reading = undefined));
      await reading;
      return found;
    },
  };
}
