/** The engines that configurations can choose. */
import type { StageConfig } from '@trinity-rft/config';
import { ConfigError, pickRow, type EngineFactory } from '@trinity-rft/core';
import { onnxEngine as defaultEngine } from '@trinity-rft/engine-onnx';

/** By name. */
export type EngineTable = Readonly<Record<string, EngineFactory>>;

/**
 * The built-in engine and those that a program adds.
 * @throws ConfigError when two have one name
 */
export function engineTable(added: readonly EngineFactory[] = []): EngineTable {
  const table: Record<string, EngineFactory> = {};
  for (const engine of [defaultEngine, ...added]) {
    if (Object.hasOwn(table, engine.name))
      throw new ConfigError(
        `There are two engines with the name "${engine.name}". Give one of them another name.`,
        { code: 'DUPLICATE_NAME' },
      );
    table[engine.name] = engine;
  }
  return table;
}

/** The engine that opens the models of a stage. */
export function engineOf(stage: Pick<StageConfig, 'engine'>, engines: EngineTable): EngineFactory {
  return pickRow('engine', engines, stage.engine);
}
