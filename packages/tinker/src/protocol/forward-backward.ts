/** Encodes and decodes requests to `/api/v1/forward_backward` and their results. */
import { messageCodec } from './schema.js';
import {
  int32Bytes,
  int64Bytes,
  readInt32s,
  readInt64s,
  readTensor,
  tensorBytes,
  type TensorValues,
} from './tensors.js';

/** One training sequence: its input token ids, and the loss inputs of each position. */
export interface Datum {
  /** Input token ids. [T] */
  readonly tokens: Int32Array;
  /**
   * Loss inputs, keyed by name: `target_tokens` (ids), and others such as `weights`, `logprobs` or
   * `advantages`. [T] each
   */
  readonly inputs: Readonly<Record<string, TensorValues>>;
}

export interface ForwardBackwardRequest {
  readonly modelId: string;
  /**
   * Sequence number of the request within the model, starting at 1. Undefined if absent. Protobuf
   * does not distinguish this from 0.
   */
  readonly seqId: number | undefined;
  readonly data: readonly Datum[];
  readonly lossFn: string;
  /** Settings of the loss. @default {} */
  readonly lossConfig?: Readonly<Record<string, number | string>>;
  /** True to compute only the forward pass, without gradients. @default false */
  readonly forwardOnly?: boolean;
}

export interface ForwardBackwardResult {
  readonly outputType: string;
  /** Named output tensors of each datum, in the order of the request. */
  readonly outputs: readonly Readonly<Record<string, TensorValues>>[];
  readonly metrics: Readonly<Record<string, number>>;
}

interface ChunkMessage {
  readonly encoded_text?: { readonly tokens?: Uint8Array };
}

interface TensorMessage {
  readonly dense?: Uint8Array;
  readonly sparse_csr?: Uint8Array;
  readonly dtype: number;
  readonly shape: readonly number[];
}

interface DatumMessage {
  readonly model_input: readonly ChunkMessage[];
  readonly loss_fn_inputs: Readonly<Record<string, TensorMessage>>;
}

interface ConfigValueMessage {
  readonly number?: number;
  readonly text?: string;
}

interface RequestMessage {
  readonly model_id?: string;
  readonly seq_id?: number;
  readonly data: readonly DatumMessage[];
  readonly loss_fn?: string;
  readonly loss_fn_config: Readonly<Record<string, number>>;
  readonly loss_fn_config_v2: Readonly<Record<string, ConfigValueMessage>>;
  readonly forward_only?: boolean;
}

interface BatchedTensorMessage {
  readonly data?: Uint8Array;
  readonly offsets?: Uint8Array;
  readonly dtype?: number;
}

interface OutputMessage {
  readonly loss_fn_output_type?: string;
  readonly loss_fn_outputs: readonly {
    readonly type_tag?: string;
    readonly fields: Readonly<Record<string, BatchedTensorMessage>>;
    readonly num_datums?: number;
  }[];
  readonly metrics: Readonly<Record<string, number>>;
}

const requests = messageCodec<RequestMessage>('ForwardBackwardRequest');
const outputs = messageCodec<OutputMessage>('ForwardBackwardOutput');

/**
 * Encodes the body of a request like SDK 0.38. Numeric loss settings are in `loss_fn_config`, the
 * only such field that SDK 0.25 has, and all settings are in `loss_fn_config_v2`.
 */
export function encodeForwardBackward(request: ForwardBackwardRequest): Uint8Array {
  const config = Object.entries(request.lossConfig ?? {});
  const numbers = config.filter(([, value]) => typeof value === 'number');
  const values = config.map(([key, value]) => [key, configValue(value)]);
  const message: RequestMessage = {
    model_id: request.modelId,
    seq_id: request.seqId,
    data: request.data.map(datumMessage),
    loss_fn: request.lossFn,
    loss_fn_config: Object.fromEntries(numbers) as Readonly<Record<string, number>>,
    loss_fn_config_v2: Object.fromEntries(values) as RequestMessage['loss_fn_config_v2'],
  };
  return requests.encode(request.forwardOnly ? { ...message, forward_only: true } : message);
}

const configValue = (value: number | string): ConfigValueMessage =>
  typeof value === 'number' ? { number: value } : { text: value };

const datumMessage = ({ tokens, inputs }: Datum): DatumMessage => ({
  model_input: [{ encoded_text: { tokens: int32Bytes(tokens) } }],
  loss_fn_inputs: mapValues(inputs, (values) => {
    const { data, dtype } = tensorBytes(values);
    return { dense: data, dtype, shape: [values.length] };
  }),
});

/**
 * Decodes the body of a request.
 * @throws Error if the bytes are malformed, or contain images or sparse tensors
 */
export function decodeForwardBackward(bytes: Uint8Array): ForwardBackwardRequest {
  const message = requests.decode(bytes);
  return {
    modelId: message.model_id ?? '',
    seqId: message.seq_id || undefined,
    data: message.data.map((datum, i) => readDatum(datum, `data[${i}]`)),
    lossFn: message.loss_fn ?? '',
    lossConfig: {
      ...message.loss_fn_config,
      ...mapValues(message.loss_fn_config_v2, ({ number, text }) => text ?? number ?? 0),
    },
    forwardOnly: message.forward_only ?? false,
  };
}

const readDatum = (datum: DatumMessage, place: string): Datum => ({
  tokens: readChunks(datum.model_input, `${place}.model_input`),
  inputs: mapValues(datum.loss_fn_inputs, (tensor, name) =>
    readDense(tensor, `${place}.loss_fn_inputs.${name}`),
  ),
});

function readChunks(chunks: readonly ChunkMessage[], place: string): Int32Array {
  const ids = chunks.flatMap(({ encoded_text: text }, i) => {
    if (text === undefined)
      throw new RangeError(`${place}[${i}] is no text: images are not supported.`);
    return [...readInt32s(text.tokens ?? new Uint8Array())];
  });
  return Int32Array.from(ids);
}

function readDense(
  { dense = new Uint8Array(), sparse_csr: sparse, dtype }: TensorMessage,
  place: string,
): TensorValues {
  if (sparse === undefined) return readTensor(dense, dtype);
  throw new RangeError(`${place} is a sparse tensor, which is not supported.`);
}

/** Encodes the result of a pass. */
export function encodeForwardBackwardResult(result: ForwardBackwardResult): Uint8Array {
  const [first] = result.outputs;
  const names = Object.keys(first ?? {});
  const record = {
    fields: Object.fromEntries(
      names.map((name) => [name, batchedTensor(result.outputs.map((one) => field(one, name)))]),
    ),
    num_datums: result.outputs.length,
  };
  return outputs.encode({
    loss_fn_output_type: result.outputType,
    loss_fn_outputs: first === undefined ? [] : [record],
    metrics: result.metrics,
  });
}

function field(record: Readonly<Record<string, TensorValues>>, name: string): TensorValues {
  const values = record[name];
  if (values !== undefined) return values;
  throw new RangeError(`The first output has "${name}", another one has not.`);
}

function batchedTensor(rows: readonly TensorValues[]): BatchedTensorMessage {
  const parts = rows.map(tensorBytes);
  const ends = [0];
  for (const { data } of parts) ends.push((ends.at(-1) ?? 0) + data.length);
  const data = new Uint8Array(ends.at(-1) ?? 0);
  for (const [i, part] of parts.entries()) data.set(part.data, ends[i]);
  return { data, offsets: int64Bytes(ends), dtype: parts[0]?.dtype ?? 0 };
}

/**
 * Decodes the result of a pass.
 * @throws Error if the bytes are malformed
 */
export function decodeForwardBackwardResult(bytes: Uint8Array): ForwardBackwardResult {
  const message = outputs.decode(bytes);
  return {
    outputType: message.loss_fn_output_type ?? '',
    outputs: message.loss_fn_outputs.flatMap((record) => {
      const fields = Object.entries(record.fields).map(
        ([name, tensor]) => [name, splitTensor(tensor)] as const,
      );
      return Array.from({ length: record.num_datums ?? 0 }, (_, i) =>
        Object.fromEntries(
          fields.map(([name, rows]) => [name, rows[i] ?? new Float32Array()] as const),
        ),
      );
    }),
    metrics: message.metrics,
  };
}

function splitTensor({
  data = new Uint8Array(),
  offsets,
  dtype = 0,
}: BatchedTensorMessage): readonly TensorValues[] {
  const ends = readInt64s(offsets ?? new Uint8Array());
  return ends.slice(1).map((end, i) => readTensor(data.subarray(ends[i], end), dtype));
}

const mapValues = <T, U>(
  record: Readonly<Record<string, T>>,
  map: (value: T, key: string) => U,
): Readonly<Record<string, U>> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
