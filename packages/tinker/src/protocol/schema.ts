/** Protobuf messages of the protocol: package `tinker_public`, as in SDK 0.38. */
import protobuf from 'protobufjs';

const proto = `
syntax = "proto3";
package tinker_public;
message Chunk { oneof chunk { EncodedText encoded_text = 1; bytes image = 2; bytes dmel = 3; } }
message EncodedText { bytes tokens = 1; }
message Tensor {
  oneof encoding { bytes dense = 1; bytes sparse_csr = 2; }
  int32 dtype = 3; repeated int64 shape = 4;
}
message Datum { repeated Chunk model_input = 1; map<string, Tensor> loss_fn_inputs = 2; }
message LossConfigValue { oneof value { double number = 1; string text = 2; } }
message ForwardBackwardRequest {
  string model_id = 1; int32 seq_id = 2; repeated Datum data = 3; string loss_fn = 4;
  map<string, double> loss_fn_config = 5; bool forward_only = 6;
  map<string, LossConfigValue> loss_fn_config_v2 = 7;
}
message BatchedTensor {
  bytes data = 1; bytes offsets = 2; int32 dtype = 3; repeated int64 trailing_shape = 4;
}
message ArrayRecord {
  string type_tag = 1; map<string, BatchedTensor> fields = 2; int64 num_datums = 3;
}
message ForwardBackwardOutput {
  string loss_fn_output_type = 1; repeated ArrayRecord loss_fn_outputs = 2;
  map<string, double> metrics = 3;
}
message TopkLogprobs { bytes token_ids = 1; bytes logprobs = 2; uint32 k = 3; uint32 length = 4; }
message SampledSequence {
  int32 stop_reason = 1; bytes tokens = 2; optional bytes logprobs = 3;
  optional TopkLogprobs topk_sampled_logprobs = 4;
}
message SampleResponse {
  repeated SampledSequence sequences = 1; optional bytes prompt_logprobs = 2;
  optional TopkLogprobs topk_prompt_logprobs = 3; int32 prompt_cache_hit_tokens = 4;
}`;

const { root } = protobuf.parse(proto, { keepCase: true });

/** Converts between plain objects and the bytes of one message type. */
export interface MessageCodec<T> {
  encode(message: T): Uint8Array;
  /**
   * Decodes a message.
   * @throws Error if the bytes are malformed
   */
  decode(bytes: Uint8Array): T;
}

/**
 * Creates the codec of a message type. When it decodes, unknown fields are skipped, missing scalars
 * stay undefined, and missing lists and maps become empty.
 */
export function messageCodec<T extends object>(name: string): MessageCodec<T> {
  const type = root.lookupType(`tinker_public.${name}`);
  return {
    encode: (message) => type.encode(type.fromObject(message)).finish(),
    decode: (bytes) =>
      type.toObject(type.decode(bytes), { arrays: true, objects: true, longs: Number }) as T,
  };
}
