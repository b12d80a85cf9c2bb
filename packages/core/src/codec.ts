/** The binary form of experiences: a versioned msgpack envelope that round-trips exactly. */
import { decode, encode } from '@msgpack/msgpack';
import { BufferError } from './errors.js';
import { assertAligned, type Experience } from './experience.js';

/** Increased when a reader of the old form could not read the new one. */
export const codecVersion = 1;

const dtypes = { f32: Float32Array, i32: Int32Array, u8: Uint8Array } as const;
type Dtype = keyof typeof dtypes;

const tensorFields: Readonly<Record<string, Dtype>> = {
  tokens: 'i32',
  actionMask: 'u8',
  logprobs: 'f32',
  tokenRewards: 'f32',
  advantages: 'f32',
  returns: 'f32',
  teacherLogprobs: 'f32',
};

/** One experience as bytes. @throws InvariantError when it is misaligned */
export function encodeExperience(experience: Experience): Uint8Array {
  assertAligned(experience);
  const fields: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(experience)) {
    if (value === undefined) continue;
    fields[key] = key in tensorFields ? toBytes(value as Float32Array | Int32Array | Uint8Array) : value;
  }
  return encode({ v: codecVersion, fields }, { ignoreUndefined: true });
}

/** @throws BufferError when the bytes are not an experience of a version we know */
export function decodeExperience(bytes: Uint8Array): Experience {
  const envelope = decodeEnvelope(bytes);
  const fields: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(envelope)) {
    const dtype = tensorFields[key];
    fields[key] = dtype ? fromBytes(value, dtype, key) : value;
  }
  const experience = fields as unknown as Experience;
  assertAligned(experience);
  return experience;
}

function decodeEnvelope(bytes: Uint8Array): Record<string, unknown> {
  let value: unknown;
  try {
    value = decode(bytes);
  } catch (cause) {
    throw new BufferError(`Stored experience of ${bytes.byteLength} bytes is damaged: it is not msgpack.`, { code: 'CODEC_DAMAGED', cause });
  }
  const { v, fields } = (value ?? {}) as { v?: unknown; fields?: unknown };
  if (v !== codecVersion || typeof fields !== 'object' || fields === null) {
    throw new BufferError(`Stored experience has format version ${String(v)}; this program reads version ${codecVersion}. Use the program that wrote it.`, {
      code: 'CODEC_VERSION',
    });
  }
  return fields as Record<string, unknown>;
}

/** Little-endian bytes: every machine Node runs on is. */
function toBytes(values: Float32Array | Int32Array | Uint8Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

function fromBytes(value: unknown, dtype: Dtype, field: string): Float32Array | Int32Array | Uint8Array {
  const Type = dtypes[dtype];
  if (!(value instanceof Uint8Array) || value.byteLength % Type.BYTES_PER_ELEMENT !== 0) {
    throw new BufferError(`Stored experience is damaged: field "${field}" is not a ${dtype} array.`, { code: 'CODEC_DAMAGED' });
  }
  return new Type(value.slice().buffer);
}
