import type { KeyPath } from '../../source/node.js';
import { defaultEngineName } from '../../schema/engines.js';
import type { StageContext } from '../base/context.js';
import type { StageConfig } from '../base/resolved.js';

const key: KeyPath = ['model', 'device'];

/**
 * Reports a device other than `cpu` if the engine is not the embedded one, because only the
 * embedded engine can choose its device.
 */
export function checkDevice(
  context: StageContext,
  { model: { device } }: Pick<StageConfig, 'model'>,
  engine: string,
): void {
  if (device === 'cpu' || engine === defaultEngineName(context.engines)) return;
  context.report(
    key,
    `got "${device}", but only the embedded engine has a device, and another engine trains. Remove the key.`,
  );
}
