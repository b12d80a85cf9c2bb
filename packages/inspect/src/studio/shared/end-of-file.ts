import { open } from 'node:fs/promises';

/** Text of the last `bytes` bytes of a file; empty if the file cannot be opened. */
export async function endOfFile(file: string, bytes: number): Promise<string> {
  const opened = await open(file).catch(() => undefined);
  if (!opened) return '';
  await using handle = opened;
  const { size } = await handle.stat();
  const buffer = Buffer.alloc(Math.min(size, bytes));
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, size - buffer.length);
  return buffer.toString('utf8', 0, bytesRead);
}
