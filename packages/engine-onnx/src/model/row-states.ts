/** States of a row beside its keys and values: their size does not grow with the row. */
import { layersWith, type ModelConfig } from './config.js';

export interface RowState {
  /** Name of the input of a graph; the output is `new_<name>`. */
  readonly name: string;
  /** Shape for one row. Zeros stand for a row that has not begun. */
  readonly shape: readonly number[];
}

/** Numbers of a state of one row. */
export const stateSize = ({ shape }: RowState): number => shape.reduce((a, b) => a * b, 1);

export const convolutionState = (layer: number): string => `conv.${layer}`;

/** All states of a row, in the order of the layers. */
export function rowStates(config: ModelConfig): readonly RowState[] {
  const { convTaps = 1, hiddenSize } = config;
  return layersWith(config, 'conv').map((layer) => ({
    name: convolutionState(layer),
    shape: [convTaps - 1, hiddenSize],
  }));
}
