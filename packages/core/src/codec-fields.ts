/**
 * Reads some fields of a stored experience without decoding the other fields, which saves time if
 * many experiences are read.
 */
import { Decoder } from '@msgpack/msgpack';
import { BufferError } from './errors.js';

const decoder = new Decoder();

/**
 * Decodes the `wanted` fields of an experience that `encodeExperience` has written. Returns typed
 * arrays as bytes, and does not validate values.
 * @throws BufferError when the bytes are not msgpack in that format
 */
export function decodeFields(
  bytes: Uint8Array,
  wanted: ReadonlySet<string>,
): Readonly<Record<string, unknown>> {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found: Record<string, unknown> = {};
  try {
    let [place, entries] = mapAt(view, 0);
    // The fields are the last entry of the envelope.
    for (; entries > 1; entries--) place = endOf(view, endOf(view, place));
    let count: number;
    [place, count] = mapAt(view, endOf(view, place));
    for (; count > 0; count--) {
      const start = endOf(view, place);
      const name = keyAt(view, place, start);
      place = endOf(view, start);
      if (wanted.has(name)) found[name] = decoder.decode(bytes.subarray(start, place));
    }
  } catch (cause) {
    throw new BufferError(
      `Stored experience of ${bytes.byteLength} bytes is damaged: it is not msgpack.`,
      { code: 'CODEC_DAMAGED', cause },
    );
  }
  return found;
}

/** Returns the offset of a map's first entry, and the number of entries. */
function mapAt(view: Buffer, place: number): [number, number] {
  const byte = view.readUInt8(place);
  if (byte >> 4 === 8) return [place + 1, byte & 15];
  if (byte === 0xde) return [place + 3, view.readUInt16BE(place + 1)];
  if (byte === 0xdf) return [place + 5, view.readUInt32BE(place + 1)];
  throw new RangeError(`There is no map at byte ${place}.`);
}

/**
 * Reads a key. The type and the length of a key take one byte, because field names have at most 31
 * characters.
 */
const keyAt = (view: Buffer, place: number, end: number): string =>
  view.toString('latin1', place + 1, end);

/**
 * Sizes of values by their msgpack type byte minus 0xc0. Positive: size in bytes of the whole
 * value; negative: size in bytes of the value's length field.
 */
const sizes: readonly number[] = [
  1, 1, 1, 1, -1, -2, -4, -1, -2, -4, 5, 9, 2, 3, 5, 9, 2, 3, 5, 9, 3, 4, 6, 10, 18, -1, -2, -4,
];

/**
 * Returns the offset just after a value.
 * @see https://github.com/msgpack/msgpack/blob/master/spec.md
 */
function endOf(view: Buffer, place: number): number {
  const byte = view.readUInt8(place);
  if (byte < 0x80 || byte >= 0xe0) return place + 1;
  if (byte < 0x90) return skip(view, place + 1, 2 * (byte & 15));
  if (byte < 0xa0) return skip(view, place + 1, byte & 15);
  if (byte < 0xc0) return place + 1 + (byte & 31);
  const size = sizes[byte - 0xc0];
  if (size === undefined) {
    const width = byte % 2 === 0 ? 2 : 4;
    const count = view.readUIntBE(place + 1, width);
    return skip(view, place + 1 + width, byte < 0xde ? count : 2 * count);
  }
  if (size > 0) return place + size;
  const isExtension = byte >= 0xc7 && byte <= 0xc9;
  return place + 1 - size + Number(isExtension) + view.readUIntBE(place + 1, -size);
}

function skip(view: Buffer, place: number, values: number): number {
  for (let i = 0; i < values; i++) place = endOf(view, place);
  return place;
}
