/** The table of engines that configurations can choose. */
import { ConfigError } from '@trinity-rft/core';
import type { EngineFactory } from '@trinity-rft/core/engine';
import { pickRow } from '@trinity-rft/core/support';
import { onnxEngine } from '@trinity-rft/engine-onnx';
import { tinkerEngine } from '../../outer/outer.js';
import type { EngineTable } from '../../context/stage-context.js';

/** The default engine. It also opens model folders that are used without a configuration. */
export const builtInEngine: EngineFactory = onnxEngine;

/**
 * Returns the embedded engine, the engine for Tinker servers and the engines that a program adds,
 * by name.
 * @throws ConfigError when two engines have the same name
 */
export function engineTable(added: readonly EngineFactory[] = []): EngineTable {
  const table: Record<string, EngineFactory> = {};
  for (const engine of [builtInEngine, tinkerEngine, ...added]) {
    if (Object.hasOwn(table, engine.name))
      throw new ConfigError(
        `There are two engines with the name "${engine.name}". Give one of them another name.`,
        { code: 'DUPLICATE_NAME' },
      );
    table[engine.name] = engine;
  }
  return table;
}

/**
 * Returns the engine with this name.
 * @param name `engine` of a stage or an auxiliary model in the resolved configuration
 */
export const engineNamed = (engines: EngineTable, name: string): EngineFactory =>
  pickRow('engine', engines, name);
