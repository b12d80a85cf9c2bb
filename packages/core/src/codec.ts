/** Encodes experiences as bytes, in a versioned msgpack envelope, and decodes them. */
import { decode, Encoder } from '@msgpack/msgpack';
import { uid } from './eid.js';
import { BufferError, describeError } from './errors.js';
import { assertAligned, type Experience } from './experience.js';

/** Version of the format. Increased by changes that older readers cannot read. */
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

const required = [
  'eid',
  'tokens',
  'promptLength',
  'actionMask',
  'logprobs',
  'policyVersion',
  'temperature',
  'metrics',
  'info',
] as const;

/**
 * Encoder shared by all calls. Its internal buffer grows once to the size that experiences need.
 */
const encoder = new Encoder({ ignoreUndefined: true });

/**
 * Encodes one experience. Outside of typed arrays, -0 becomes 0. Properties that are undefined are
 * dropped; undefined in a list becomes null.
 * @throws InvariantError when the arrays of the experience are misaligned; BufferError when a value
 * would be different after decoding, or a key is `__proto__`
 */
export function encodeExperience(experience: Experience): Uint8Array {
  assertAligned(experience);
  const fields: Record<string, unknown> = {};
  try {
    for (const [key, value] of Object.entries(experience)) {
      if (value === undefined) continue;
      const dtype = dtypeOf(key);
      const fault = dtype ? tensorFault(value, dtypes[dtype]) : plainFault(value);
      if (fault !== undefined) throw new BufferError(`${key}${fault}`);
      fields[key] = dtype ? toBytes(value as Float32Array | Int32Array | Uint8Array) : value;
    }
    return encoder.encode({ v: codecVersion, fields });
  } catch (cause) {
    const message = `Experience ${uid(experience.eid)} cannot be stored: ${describeError(cause)}. Use the typed arrays of createExperience, and only plain JSON values in info.`;
    throw new BufferError(message, { code: 'CODEC_UNSUPPORTED', cause });
  }
}

const tensorFault = (value: unknown, Type: (typeof dtypes)[Dtype]): string | undefined =>
  value instanceof Type ? undefined : ` is not a ${Type.name}`;

/** Maximum depth of nested values in a field. The limit detects values that contain themselves. */
const deepestValue = 100;
const plainTypes = new Set(['string', 'number', 'boolean', 'undefined']);

/**
 * Returns the path to a value that would be different after decoding, with the reason, such as
 * `.at.0 is of type Date`. Returns undefined if there is none. The key `__proto__` counts as such a
 * value, because msgpack decoders reject it.
 */
function plainFault(value: unknown, depth = 0): string | undefined {
  if (value === null || plainTypes.has(typeof value)) return undefined;
  if (!isPlain(value)) return ` is of type ${typeName(value)}`;
  if (depth > deepestValue) return ` has more than ${deepestValue} levels`;
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__') return ' has a key named __proto__';
    const fault = plainFault(item, depth + 1);
    if (fault !== undefined) return `.${key}${fault}`;
  }
  return undefined;
}

/** Returns true for lists and for plain objects. Plain objects of another realm count too. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === null || Object.getPrototypeOf(prototype) === null;
}

const typeName = (value: unknown): string =>
  typeof value === 'object' ? (value?.constructor.name ?? 'object') : typeof value;

/**
 * Decodes an experience that {@link encodeExperience} has written.
 * @throws BufferError when the bytes are not an experience of a known version
 */
export function decodeExperience(bytes: Uint8Array): Experience {
  const envelope = decodeEnvelope(bytes);
  const fields: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(envelope)) {
    const dtype = dtypeOf(key);
    fields[key] = dtype ? fromBytes(value, dtype, key) : value;
  }
  const missing = required.find((key) => fields[key] === undefined);
  if (missing)
    throw new BufferError(`Stored experience is damaged: field "${missing}" is missing.`, {
      code: 'CODEC_DAMAGED',
    });
  const experience = fields as unknown as Experience;
  try {
    assertAligned(experience);
  } catch (cause) {
    throw new BufferError(`Stored experience is damaged: ${describeError(cause)}`, {
      code: 'CODEC_DAMAGED',
      cause,
    });
  }
  return experience;
}

const dtypeOf = (field: string): Dtype | undefined =>
  Object.hasOwn(tensorFields, field) ? tensorFields[field] : undefined;

function decodeEnvelope(bytes: Uint8Array): Record<string, unknown> {
  let value: unknown;
  try {
    value = decode(bytes);
  } catch (cause) {
    throw new BufferError(
      `Stored experience of ${bytes.byteLength} bytes is damaged: it is not msgpack.`,
      {
        code: 'CODEC_DAMAGED',
        cause,
      },
    );
  }
  const { v, fields } = (value ?? {}) as { v?: unknown; fields?: unknown };
  if (v !== codecVersion || typeof fields !== 'object' || fields === null) {
    throw new BufferError(
      `Stored experience has format version ${String(v)}; this program reads version ${codecVersion}. Use the program that wrote it.`,
      {
        code: 'CODEC_VERSION',
      },
    );
  }
  return fields as Record<string, unknown>;
}

/**
 * Returns a view of an array's bytes. Their order is little-endian, because all supported machines
 * are.
 */
function toBytes(values: Float32Array | Int32Array | Uint8Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

function fromBytes(
  value: unknown,
  dtype: Dtype,
  field: string,
): Float32Array | Int32Array | Uint8Array {
  const Type = dtypes[dtype];
  if (!(value instanceof Uint8Array) || value.byteLength % Type.BYTES_PER_ELEMENT !== 0) {
    throw new BufferError(
      `Stored experience is damaged: field "${field}" is not a ${dtype} array.`,
      { code: 'CODEC_DAMAGED' },
    );
  }
  // Copies the bytes, because `value` is a view into the message at an offset that may not be
  // aligned.
  return new Type(new Uint8Array(value).buffer);
}
