/** Encodes and decodes the frames of the journal. Each frame contains one call. */
import { crc32 } from 'node:zlib';
import type { EncodedCall } from './sqlite.js';

export interface Frame {
  /** Sequence number of the frame. Both journal files share one sequence. */
  readonly order: number;
  readonly call: EncodedCall;
}

/**
 * Size in bytes of a frame's prefix, which is everything before the head. Layout of a frame,
 * little-endian: size of the checked part (uint32), its CRC-32 (uint32), then the checked part,
 * which consists of the order (float64), the size of the head (uint32), the head as JSON, and the
 * experiences.
 */
const prefixSize = 20;

interface Head {
  readonly msgId: string;
  readonly session: string;
  /** Size of each experience in bytes. */
  readonly sizes: readonly number[];
}

export function toFrame(
  order: number,
  { msgId, session, experiences }: EncodedCall,
): readonly Uint8Array[] {
  const sizes = experiences.map(({ byteLength }) => byteLength);
  const head = Buffer.from(JSON.stringify({ msgId, session, sizes } satisfies Head));
  const prefix = Buffer.allocUnsafe(prefixSize);
  prefix.writeUInt32LE(
    sizes.reduce((sum, size) => sum + size, 12 + head.length),
    0,
  );
  prefix.writeDoubleLE(order, 8);
  prefix.writeUInt32LE(head.length, 16);
  let checksum = crc32(head, crc32(prefix.subarray(8)));
  for (const part of experiences) checksum = crc32(part, checksum);
  prefix.writeUInt32LE(checksum, 4);
  return [prefix, head, ...experiences];
}

export interface FramesRead {
  readonly frames: readonly Frame[];
  /**
   * Number of bytes that do not belong to complete frames. The cause is a damaged frame, or a
   * process that was killed while it wrote a frame.
   */
  readonly unreadable: number;
}

/** Reads all complete frames. Skips damaged frames. */
export function readFrames(bytes: Buffer): FramesRead {
  const frames: Frame[] = [];
  let unreadable = 0;
  for (let at = 0; at < bytes.length;) {
    const rest = restAt(bytes, at);
    if (rest) frames.push(fromRest(rest));
    else unreadable++;
    at += rest ? 8 + rest.length : 1;
  }
  return { frames, unreadable };
}

/**
 * Returns the checked part of the frame at position `at`, or undefined if no complete frame begins
 * there.
 */
function restAt(bytes: Buffer, at: number): Buffer | undefined {
  if (at + prefixSize > bytes.length) return undefined;
  const end = at + 8 + bytes.readUInt32LE(at);
  if (end < at + prefixSize || end > bytes.length) return undefined;
  if (at + prefixSize + bytes.readUInt32LE(at + 16) > end) return undefined;
  const rest = bytes.subarray(at + 8, end);
  return crc32(rest) === bytes.readUInt32LE(at + 4) ? rest : undefined;
}

function fromRest(bytes: Buffer): Frame {
  let at = 12 + bytes.readUInt32LE(8);
  const { msgId, session, sizes } = JSON.parse(bytes.toString('utf8', 12, at)) as Head;
  const experiences = sizes.map((size) => new Uint8Array(bytes.subarray(at, (at += size))));
  return { order: bytes.readDoubleLE(0), call: { msgId, session, experiences } };
}
