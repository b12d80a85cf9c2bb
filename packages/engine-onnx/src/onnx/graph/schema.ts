/** The part of the ONNX file format that our graphs use, and its encoder. */
import protobuf from 'protobufjs';

import {
  dataTypes,
  type Attribute,
  type ConstantRecord,
  type ModelRecord,
  type PortRecord,
} from './record.js';

/** The part of onnx.proto (ONNX 1.20, Apache-2.0) that is used here, with its field numbers. */
const proto = `
syntax = "proto2";
package onnx;
message AttributeProto {
  optional string name = 1; optional float f = 2; optional int64 i = 3; optional bytes s = 4;
  optional GraphProto g = 6; repeated int64 ints = 8; optional int32 type = 20;
}
message NodeProto {
  repeated string input = 1; repeated string output = 2; optional string name = 3;
  optional string op_type = 4; repeated AttributeProto attribute = 5; optional string domain = 7;
}
message StringStringEntryProto { optional string key = 1; optional string value = 2; }
message TensorProto {
  repeated int64 dims = 1; optional int32 data_type = 2; optional string name = 8;
  optional bytes raw_data = 9; repeated StringStringEntryProto external_data = 13;
  optional int32 data_location = 14;
}
message Dimension { optional int64 dim_value = 1; optional string dim_param = 2; }
message TensorShapeProto { repeated Dimension dim = 1; }
message TensorType { optional int32 elem_type = 1; optional TensorShapeProto shape = 2; }
message TypeProto { optional TensorType tensor_type = 1; }
message ValueInfoProto { optional string name = 1; optional TypeProto type = 2; }
message GraphProto {
  repeated NodeProto node = 1; optional string name = 2; repeated TensorProto initializer = 5;
  repeated ValueInfoProto input = 11; repeated ValueInfoProto output = 12;
}
message OperatorSetIdProto { optional string domain = 1; optional int64 version = 2; }
message ModelProto {
  optional int64 ir_version = 1; optional string producer_name = 2; optional GraphProto graph = 7;
  repeated OperatorSetIdProto opset_import = 8;
}`;

const { root } = protobuf.parse(proto, { keepCase: true });
const encoder = (name: string): ((fields: object) => Uint8Array) => {
  const type = root.lookupType(`onnx.${name}`);
  return (fields) => type.encode(type.fromObject(fields)).finish();
};
const [encodeHead, encodeGraph, encodeTensor] = [
  encoder('ModelProto'),
  encoder('GraphProto'),
  encoder('TensorProto'),
];

/**
 * Encodes an ONNX file with IR 10 and operator sets 21 and com.microsoft 1. Returns the file in
 * parts. The bytes of a constant are a separate part and are not copied, because a model's
 * constants may occupy half of the machine's memory.
 */
export function encodeModel(model: ModelRecord): readonly Uint8Array[] {
  const head = encodeHead({
    ir_version: 10,
    producer_name: 'trinity-rft',
    opset_import: [
      { domain: '', version: 21 },
      { domain: 'com.microsoft', version: 1 },
    ],
  });
  const graph = encodeGraph(graphFields(model));
  const constants = model.constants.flatMap((each) => field(fields.initializer, constant(each)));
  return [head, ...field(fields.graph, [graph, ...constants])];
}

/** Returns the fields of a graph, except its constants. */
const graphFields = ({ nodes, inputs, outputs }: ModelRecord): object => ({
  name: 'graph',
  node: nodes.map((node) => ({
    input: node.inputs,
    output: node.outputs,
    name: node.name,
    op_type: node.type,
    domain: node.domain,
    attribute: Object.entries(node.attributes).map(([name, value]) => attribute(name, value)),
  })),
  input: inputs.map(port),
  output: outputs.map(port),
});

/**
 * Numbers of the fields that are written part by part. They must match the definition in `proto`.
 */
const fields = { graph: 7, initializer: 5, rawData: 9 } as const;

/** Encodes a field of bytes: its number with wire type 2, the length, and the bytes. */
function field(number: number, parts: readonly Uint8Array[]): readonly Uint8Array[] {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return [
    protobuf.Writer.create()
      .uint32((number << 3) | 2)
      .uint32(length)
      .finish(),
    ...parts,
  ];
}

/** Encodes a constant. `TensorProto.DataLocation` is 1 for external data. */
function constant({ name, dtype, shape, bytes }: ConstantRecord): readonly Uint8Array[] {
  const tensor = { name, dims: shape, data_type: dataTypes[dtype] };
  if (bytes instanceof Uint8Array) return [encodeTensor(tensor), ...field(fields.rawData, [bytes])];
  const place = Object.entries(bytes).map(([key, value]) => ({ key, value: String(value) }));
  return [encodeTensor({ ...tensor, data_location: 1, external_data: place })];
}

/**
 * Encodes an attribute. `AttributeProto.AttributeType` is 1 for float, 2 int, 3 string, 5 graph, 7
 * ints. The body of a loop has no constants.
 */
function attribute(name: string, value: Attribute): object {
  if (typeof value === 'number') return { name, i: value, type: 2 };
  if (typeof value === 'string') return { name, s: new TextEncoder().encode(value), type: 3 };
  if ('float' in value) return { name, f: value.float, type: 1 };
  if ('graph' in value) return { name, g: graphFields(value.graph), type: 5 };
  return { name, ints: value, type: 7 };
}

function port(record: PortRecord): object {
  const dim = record.shape.map((size) =>
    typeof size === 'number' ? { dim_value: size } : { dim_param: size },
  );
  return {
    name: record.name,
    type: { tensor_type: { elem_type: dataTypes[record.dtype], shape: { dim } } },
  };
}
