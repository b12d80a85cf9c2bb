/** Reads a file of lines in blocks. */
import type { FileHandle } from 'node:fs/promises';

const blockSize = 1 << 20;
const newline = 0x0a;

/** Called for the line `[begin, end)` of a block, which excludes the line break. */
export type OnLine = (block: Buffer, begin: number, end: number) => void;

/**
 * Calls `onLine` for every complete line in the byte range `[from, to)` of the file. After each
 * block, calls `onBlock` with the offset at which the block's last complete line ends. Returns the
 * last such offset. Other tasks can run between blocks.
 */
export async function readLines(
  file: FileHandle,
  [from, to]: readonly [from: number, to: number],
  onLine: OnLine,
  onBlock: (end: number) => void = () => undefined,
): Promise<number> {
  let block = Buffer.allocUnsafe(Math.min(blockSize, to - from));
  let [offset, kept] = [from, 0];
  while (offset + kept < to) {
    const wanted = Math.min(block.length - kept, to - offset - kept);
    const { bytesRead } = await file.read(block, kept, wanted, offset + kept);
    if (bytesRead === 0) break;
    const filled = kept + bytesRead;
    const used = eachLine(block.subarray(0, filled), onLine);
    block.copyWithin(0, used, filled);
    offset += used;
    kept = filled - used;
    onBlock(offset);
    // Doubles the block, because the line is longer than the block.
    if (kept === block.length) block = Buffer.concat([block], block.length * 2);
  }
  return offset;
}

/**
 * Calls `onLine` for each complete line of a block. Returns the offset in the block at which the
 * last of them ends.
 */
function eachLine(block: Buffer, onLine: OnLine): number {
  let begin = 0;
  for (;;) {
    const end = block.indexOf(newline, begin);
    if (end === -1) return begin;
    onLine(block, begin, end);
    begin = end + 1;
  }
}
