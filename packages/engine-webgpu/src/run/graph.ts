/** A graph that a device executes. */
import type {
  DeviceArray,
  DeviceArrays,
  Feeds,
  HostArray,
  LoadedGraph,
  ModelRecord,
} from '@trinity-rft/engine-onnx/graph-runtime';
import type { Kernel } from '../kernels/kernel.js';
import { planGraph, type Plan } from '../plan/plan.js';
import { bytesOf } from '../plan/value.js';
import { BufferArray, int32Of, ofSize, ownArray, storedNumbers } from './array.js';
import type { Bindings, BufferPart } from './commands.js';
import { upload, withScratch, type Machine, type Scratch } from './machine.js';

/**
 * Maximum number of cached plans. Each combination of input shapes needs a plan; during decoding,
 * each number of rows is such a combination.
 */
const planLimit = 128;

/**
 * Alignment of the offset of a binding, in bytes. This is WebGPU's default, which the engine does
 * not change.
 */
const bindingAlignment = 256;

interface ReadyPlan {
  readonly plan: Plan;
  readonly kernels: ReadonlySet<Kernel>;
  /** Buffers and bind group of each dispatch. */
  readonly bindings: readonly Bindings[];
}

export class DeviceGraph implements LoadedGraph {
  readonly #machine: Machine;
  readonly #record: ModelRecord;
  readonly #plans = new Map<string, ReadyPlan>();
  readonly #constants = new Map<string, BufferPart>();

  constructor(machine: Machine, record: ModelRecord) {
    this.#machine = machine;
    this.#record = record;
  }

  async run(inputs: Feeds, outputs: DeviceArrays = {}): Promise<DeviceArrays> {
    const ready = this.#planFor(inputs);
    await this.#machine.pipelines.compile(ready.kernels);
    return withScratch(this.#machine, (scratch) => this.#queue(ready, inputs, outputs, scratch));
  }

  async trim(): Promise<void> {
    // An execution keeps no memory, because its buffers return to the pool.
  }

  async free(): Promise<void> {
    for (const { buffer } of this.#constants.values()) this.#machine.memory.give(buffer);
    this.#constants.clear();
    this.#plans.clear();
  }

  #planFor(inputs: Feeds): ReadyPlan {
    const shapes = Object.fromEntries(
      this.#record.inputs.flatMap(({ name }) => {
        const input = inputs[name];
        return input ? [[name, input.shape] as const] : [];
      }),
    );
    const key = JSON.stringify(shapes);
    const ready = this.#plans.get(key) ?? readyPlan(planGraph(this.#record, shapes));
    // The map is kept in the order of last use.
    this.#plans.delete(key);
    this.#plans.set(key, ready);
    if (this.#plans.size > planLimit) this.#plans.delete(this.#plans.keys().next().value!);
    return ready;
  }

  /**
   * Queues all commands of one execution. Runs synchronously, so the commands of two executions are
   * never interleaved.
   */
  #queue(
    { plan, bindings }: ReadyPlan,
    inputs: Feeds,
    outputs: DeviceArrays,
    scratch: Scratch,
  ): DeviceArrays {
    const { memory, commands, pipelines } = this.#machine;
    const feeds = new Map(
      this.#record.inputs.map(({ name }) => [name, this.#feed(inputs[name]!, scratch)]),
    );
    const readBuffers = new Set(feeds.values().map(({ buffer }) => buffer));
    const targets = Object.entries(plan.outputs).map(([name, { dtype, shape }]) => {
      const given = outputs[name];
      const array = given
        ? ofSize(given, shape, `output "${name}"`)
        : new BufferArray({ dtype, shape }, memory.take(bytesOf(shape)), memory);
      const isFree = canBind(array) && !readBuffers.has(array.buffer);
      return { name, array, part: isFree ? array : scratch.take(array.bytes) };
    });
    const made = new Map(targets.map(({ name, part }) => [name, part]));
    const slots = plan.slots.map(scratch.take);
    const partOf = (index: number): BufferPart => {
      const place = plan.places[index]!;
      if (place.kind === 'slot') return slots[place.slot]!;
      if (place.kind === 'constant') return this.#constant(plan, place.key);
      return (place.kind === 'input' ? feeds : made).get(place.name)!;
    };
    for (const [i, dispatch] of plan.dispatches.entries()) {
      const own = bindings[i]!;
      const parts = dispatch.buffers.map(partOf);
      if (!parts.every((part, k) => isSame(part, own.parts[k]))) {
        own.group = undefined;
        own.parts = parts;
      }
      commands.dispatch(pipelines.now(dispatch.kernel), dispatch, own);
    }
    for (const { part, array } of targets) if (part !== array) commands.copy(part, array);
    commands.submit();
    return Object.fromEntries(targets.map(({ name, array }) => [name, array]));
  }

  /**
   * Returns a range of a buffer with an input's data. Uploads host arrays, and copies views whose
   * offset is not aligned.
   */
  #feed(input: HostArray | DeviceArray, scratch: Scratch): BufferPart {
    if ('data' in input) return scratch.upload(storedNumbers(input));
    const array = ownArray(input);
    if (canBind(array)) return array;
    const part = scratch.take(array.bytes);
    this.#machine.commands.copy(array, part);
    return part;
  }

  #constant(plan: Plan, key: string): BufferPart {
    const known = this.#constants.get(key);
    if (known) return known;
    const { dtype, numbers } = plan.constants.get(key)!;
    const data = dtype === 'float32' ? Float32Array.from(numbers) : int32Of(numbers);
    const part = upload(this.#machine, data);
    this.#constants.set(key, part);
    return part;
  }
}

const canBind = ({ offset }: BufferPart): boolean => offset % bindingAlignment === 0;

const readyPlan = (plan: Plan): ReadyPlan => ({
  plan,
  kernels: new Set(plan.dispatches.map(({ kernel }) => kernel)),
  bindings: plan.dispatches.map(() => ({ group: undefined, parts: [] })),
});

const isSame = (a: BufferPart, b: BufferPart | undefined): boolean =>
  a.buffer === b?.buffer && a.offset === b.offset && a.bytes === b.bytes;
