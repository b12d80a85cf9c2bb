/**
 * Encodes events for TensorBoard event files: Event messages (tensorflow/core/util/event.proto),
 * each in a TFRecord.
 */
import type { Metrics } from '@trinity-rft/core';
import { maskedCrc32c } from './crc32c.js';

/** An event in a TensorBoard file. Besides time and step, exactly one field is set. */
export interface TensorBoardEvent {
  /** Time of the event, in seconds since the epoch. */
  readonly wallTime: number;
  readonly step?: number;
  /**
   * Version of the file format, `brain.Event:2`. It is set only in the first event of every file.
   */
  readonly fileVersion?: string;
  /** Scalar values, keyed by tag. They are stored as float32. */
  readonly scalars?: Metrics;
  /**
   * True if a training run starts or resumes at `step`. TensorBoard then ignores data of earlier
   * files from that step on.
   */
  readonly sessionStart?: boolean;
}

/**
 * Encodes a TFRecord: the length (uint64) and its masked checksum (uint32), then the payload and
 * its masked checksum, all little-endian.
 */
export function frame(payload: Buffer): Buffer {
  const head = Buffer.alloc(12);
  head.writeBigUInt64LE(BigInt(payload.length), 0);
  head.writeUInt32LE(maskedCrc32c(head.subarray(0, 8)), 8);
  const tail = Buffer.alloc(4);
  tail.writeUInt32LE(maskedCrc32c(payload), 0);
  return Buffer.concat([head, payload, tail]);
}

/**
 * Encodes an event as a protobuf message. The field numbers are: Event wall_time 1, step 2,
 * file_version 3, summary 5, session_log 7, and SessionLog status 1 (START = 1).
 */
export function encodeEvent({
  wallTime,
  step = 0,
  fileVersion,
  scalars,
  sessionStart,
}: TensorBoardEvent): Buffer {
  return Buffer.concat([
    doubleField(1, wallTime),
    ...(step === 0 ? [] : [varintField(2, step)]),
    ...(fileVersion === undefined ? [] : [bytesField(3, Buffer.from(fileVersion))]),
    ...(scalars ? [bytesField(5, encodeSummary(scalars))] : []),
    ...(sessionStart ? [bytesField(7, varintField(1, 1))] : []),
  ]);
}

/**
 * Encodes a Summary message. The field numbers are: Summary value 1 (repeated), and Value tag 1,
 * simple_value 2.
 */
function encodeSummary(scalars: Metrics): Buffer {
  const values = Object.entries(scalars).map(([tag, value]) =>
    bytesField(1, Buffer.concat([bytesField(1, Buffer.from(tag)), floatField(2, value)])),
  );
  return Buffer.concat(values);
}

/** Numbers of the wire types in protobuf. */
const wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

const tagOf = (field: number, type: number): Buffer => varint((field << 3) | type);

const varintField = (field: number, value: number): Buffer =>
  Buffer.concat([tagOf(field, wire.varint), varint(value)]);

const bytesField = (field: number, value: Buffer): Buffer =>
  Buffer.concat([tagOf(field, wire.bytes), varint(value.length), value]);

function doubleField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([tagOf(field, wire.fixed64), bytes]);
}

function floatField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([tagOf(field, wire.fixed32), bytes]);
}

/**
 * Encodes an integer as a protobuf varint: seven bits per byte, the lowest bits first. Divides
 * instead of shifting, because steps may exceed 32 bits.
 */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}
