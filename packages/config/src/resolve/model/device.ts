/** Checks the device of the embedded engine against settings that exclude a GPU. */
import type { KeyPath } from '../../source/node.js';
import { defaultEngineName } from '../../schema/engines.js';
import type { StageContext } from '../base/context.js';
import type { StageConfig } from '../base/resolved.js';
import { quantizationOf } from './quantization.js';

const key: KeyPath = ['model', 'device'];

export function checkDevice(
  context: StageContext,
  { model }: Pick<StageConfig, 'model'>,
  engine: string,
): void {
  const { device } = model;
  if (device === 'cpu') return;
  const refuse = (why: string, uses: readonly KeyPath[] = []): void =>
    context.report(key, `got "${device}", but ${why}`, uses);
  if (engine !== defaultEngineName(context.engines))
    refuse('only the embedded engine has a device, and another engine trains. Remove the key.');
  // `auto` uses the CPU for quantised weights.
  else if (device === 'webgpu' && quantizationOf(model, context.disk) !== undefined)
    refuse('only the CPU computes with quantised weights. Set quantization: none, or cpu.', [
      ['model', 'quantization'],
    ]);
}
