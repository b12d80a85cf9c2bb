/** A graph as plain data, limited to the part of the ONNX format that our graphs use. */

/** Codes of the element types, as in `TensorProto.DataType`. */
export const dataTypes = {
  float32: 1,
  uint8: 2,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
} as const;
/** Element type of an array. */
export type DataType = keyof typeof dataTypes;

/**
 * Attribute of an operator: an integer, a list of integers, a string, a float, or the body of a
 * loop. Floats are wrapped in an object to distinguish them from integers.
 */
export type Attribute =
  | number
  | string
  | readonly number[]
  | { readonly float: number }
  | { readonly graph: ModelRecord };

/** An operator of a graph. */
export interface NodeRecord {
  readonly type: string;
  readonly domain: string;
  readonly name: string;
  /** Names of inputs; an empty name means that an optional input is omitted. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: Readonly<Record<string, Attribute>>;
}

/** An array that is part of a graph. */
export interface ConstantRecord {
  readonly name: string;
  readonly dtype: DataType;
  readonly shape: readonly number[];
  /** Little-endian bytes of the elements, or their location in a file next to the model. */
  readonly bytes: Uint8Array | ExternalBytes;
}

/** Location of a constant's bytes in a file in the model's folder. */
export interface ExternalBytes {
  /** Name of the file. */
  readonly location: string;
  readonly offset: number;
  readonly length: number;
}

/** An input or output of a graph. A string in `shape` names a size that depends on the inputs. */
export interface PortRecord {
  readonly name: string;
  readonly dtype: DataType;
  readonly shape: readonly (number | string)[];
}

/**
 * A graph. Each node comes after the nodes whose results it reads, and values are referred to by
 * name.
 */
export interface ModelRecord {
  readonly nodes: readonly NodeRecord[];
  readonly constants: readonly ConstantRecord[];
  readonly inputs: readonly PortRecord[];
  readonly outputs: readonly PortRecord[];
}
