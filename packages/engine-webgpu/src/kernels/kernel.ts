/**
 * Kernels in WGSL. The source of a kernel does not depend on sizes; each call provides them as
 * uniforms and as the number of workgroups.
 */

/**
 * Type of the elements in a buffer. Booleans and int64 values are stored as `i32`, booleans as 0
 * and 1.
 */
export type Element = 'f32' | 'i32';

/**
 * Number of 32-bit words that are reserved for the uniforms of a call: 256 bytes, because every
 * device accepts multiples of 256 as dynamic offsets.
 */
export const uniformWords = 64;

/** Maximum number of workgroups that every device allows in one dimension of a dispatch. */
const groupLimit = 65_535;

export interface Kernel {
  /** Name of the kernel family, which is used to count kernels and in errors. */
  readonly name: string;
  readonly source: string;
  /**
   * Number of input buffers. Their bindings start at 1, and the bindings of the output buffers
   * follow.
   */
  readonly reads: number;
  readonly writes: number;
}

/** A kernel with the sizes of one dispatch. Only the buffers are still to be bound. */
export interface Call {
  readonly kernel: Kernel;
  /**
   * Values of the uniforms, at most {@link uniformWords}. Floats must be converted by
   * {@link floatBits}.
   */
  readonly uniforms: readonly number[];
  /**
   * Number of workgroups in each of two dimensions. Workgroup (x, y) has the index
   * `y * groups[0] + x`.
   */
  readonly groups: readonly [number, number];
  /**
   * Estimated floating-point operations. Memory traffic is included as an equivalent number of
   * operations.
   */
  readonly work: number;
}

/** Returns the bits of a float32 as an integer, to pass it as a uniform. */
export const floatBits = (value: number): number =>
  new Uint32Array(Float32Array.of(value).buffer)[0]!;

/**
 * Splits a number of workgroups into two dimensions of at most 65,535 each. The product may exceed
 * `count`.
 */
export function foldGroups(count: number): readonly [number, number] {
  if (count <= groupLimit) return [Math.max(1, count), 1];
  const rows = Math.ceil(count / groupLimit);
  return [Math.ceil(count / rows), rows];
}

interface KernelSpec {
  /** Name of the kernel. Name and types together identify its source. */
  readonly name: string;
  /** Element types of the input and output buffers, such as `f32 i32 -> f32`. */
  readonly types: string;
  /** Estimated operations per element, row or tile. @default 16 */
  readonly cost?: number;
}

const kernels = new Map<string, Kernel>();

/**
 * Returns the kernel for a specification, created on the first call. In `main`, `b0`, `b1` ... are
 * the buffers, `p(i)` is uniform i as `u32`, and `pf(i)` is uniform i as `f32`.
 */
function kernel({ name, types }: KernelSpec, main: string): Kernel {
  const key = `${name} ${types}`;
  const known = kernels.get(key);
  if (known) return known;
  const [reads, writes] = types.split(' -> ').map((elements) => elements.split(' '));
  const bindings = [...reads!, ...writes!].map((element, i) => {
    const access = i < reads!.length ? 'read' : 'read_write';
    return `@group(0) @binding(${i + 1}) var<storage, ${access}> b${i}: array<${element}>;`;
  });
  const source = `${header}${bindings.join('\n')}\n${main}`;
  const made = { name, source, reads: reads!.length, writes: writes!.length };
  kernels.set(key, made);
  return made;
}

const header = `struct Uniforms { words: array<vec4<u32>, ${uniformWords / 4}> }
@group(0) @binding(0) var<uniform> uniforms: Uniforms;
fn p(i: u32) -> u32 { return uniforms.words[i / 4u][i % 4u]; }
fn pf(i: u32) -> f32 { return bitcast<f32>(p(i)); }
`;

/** Workgroup size of kernels with one thread per element. */
const linearThreads = 64;

/**
 * Creates the call of a kernel with one thread per element `i`. Uniform 0 is the number of
 * elements.
 * @param functions WGSL functions that the body calls
 */
export function perElement(
  spec: KernelSpec,
  uniforms: readonly [count: number, ...rest: number[]],
  body: string,
  functions = '',
): Call {
  const main = `${functions}
@compute @workgroup_size(${linearThreads})
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = id.y * groups.x * ${linearThreads}u + id.x;
  if (i >= p(0u)) { return; }
  ${body}
}`;
  const groups = foldGroups(Math.ceil(uniforms[0] / linearThreads));
  return { kernel: kernel(spec, main), uniforms, groups, work: workOf(spec, uniforms[0]) };
}

interface GroupSpec extends KernelSpec {
  /** Number of threads per workgroup. */
  readonly threads: number;
  /**
   * WGSL declarations outside the body, such as functions and shared memory.
   * @default shared memory for one number per thread
   */
  readonly outside?: string;
}

/**
 * Creates the call of a kernel with one workgroup for each `row`. `t` is the index of a thread in
 * its workgroup. Uniform 0 is the number of rows.
 */
export function perRow(
  { threads, outside = `var<workgroup> shared_: array<f32, ${threads}>;`, ...spec }: GroupSpec,
  uniforms: readonly [count: number, ...rest: number[]],
  body: string,
): Call {
  const main = `${outside}
@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) id: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) t: u32) {
  let row = id.y * groups.x + id.x;
  if (row >= p(0u)) { return; }
  ${body}
}`;
  const groups = foldGroups(uniforms[0]);
  return { kernel: kernel(spec, main), uniforms, groups, work: workOf(spec, uniforms[0]) };
}

const workOf = ({ cost = 16 }: KernelSpec, count: number): number => count * cost;

/**
 * Returns WGSL that combines the `value` of all threads of a workgroup and declares the result as
 * `name` in each thread. The values are combined in pairs whose distance is first `threads / 2`,
 * then `threads / 4`, and so on. The shared memory may be overwritten only after another barrier.
 */
export function reduceThreads(
  threads: number,
  name: string,
  value: string,
  combine: (a: string, b: string) => string,
): string {
  // Combines in two levels only, because a barrier takes longer than a few sums.
  const few = 16;
  const fold = (count: number, apart: number, at: string): string =>
    apart === count
      ? `shared_[${at}]`
      : `(${combine(fold(count, 2 * apart, at), fold(count, 2 * apart, `${at} + ${apart}u`))})`;
  return `
  shared_[t] = ${value};
  workgroupBarrier();
  if (t < ${few}u) { shared_[t] = ${fold(threads, few, 't')}; }
  workgroupBarrier();
  let ${name} = ${fold(few, 1, '0u')};`;
}

export const sum = (a: string, b: string): string => `${a} + ${b}`;

export const maximum = (a: string, b: string): string => `max(${a}, ${b})`;
