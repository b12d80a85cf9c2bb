/**
 * A module in the place of `@trinity-rft/engine-webgpu`: ONNX Runtime, as a GPU. The query of its URL changes it:
 * `driver` names the driver, `fault` is `wrong`, `none`, `crash`, `hang`, or the last two followed by `-late`: at the
 * first computation.
 */
import { EngineError } from '@trinity-rft/core';

import type { GraphRuntime } from '../../src/runtime/graph-runtime.js';
import { OnnxRuntime } from '../../src/runtime/onnx-runtime.js';

const query = new URL(import.meta.url).searchParams;
const fault = query.get('fault');

export async function listAdapters(): Promise<readonly object[]> {
  if (fault === 'none') throw new EngineError('There is no GPU.', { code: 'ENGINE_NO_GPU' });
  if (fault === 'crash') process.kill(process.pid, 'SIGKILL');
  if (fault === 'hang') await new Promise(() => {});
  const description = `Stand-in, driver ${query.get('driver') ?? '1'}`;
  return [{ vendor: 'test', description, isSoftware: true }];
}

export const checkRecord = async (): Promise<void> => {};

/** Learns half as fast as it should. */
class WrongRuntime extends OnnxRuntime {
  override adamW(...[sets, plan]: Parameters<OnnxRuntime['adamW']>): Promise<void> {
    return super.adamW(sets, { ...plan, stepSize: plan.stepSize / 2 });
  }
}

export async function createGraphRuntime(): Promise<GraphRuntime> {
  if (fault === 'crash-late') process.kill(process.pid, 'SIGKILL');
  if (fault === 'hang-late') await new Promise(() => {});
  const Runtime = fault === 'wrong' ? WrongRuntime : OnnxRuntime;
  return new Runtime({ threads: { train: 1, sample: 1 } });
}
