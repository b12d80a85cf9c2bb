/**
 * Recurrent states of a row, which are kept in addition to keys and values. The size of a state
 * does not grow with the length of the row.
 */
import { deltaChannels, deltaShape, layerTraits, type Mixer, type ModelConfig } from './config.js';

export interface RowState {
  /** Name of the graph input. The graph output is named `new_<name>`. */
  readonly name: string;
  /** Shape for one row. The state of a new row is zeros. */
  readonly shape: readonly number[];
}

/** Returns the number of elements of a state for one row. */
export const stateSize = ({ shape }: RowState): number => shape.reduce((a, b) => a * b, 1);

export const convolutionState = (layer: number): string => `conv.${layer}`;

export const deltaState = (layer: number): string => `delta.${layer}`;

/** Returns all states of a row, in the order of the layers. */
export function rowStates(config: ModelConfig): readonly RowState[] {
  return Array.from({ length: config.layers }, (_, layer) => {
    const { mixer = 'attention' } = layerTraits(config, layer);
    return statesOf[mixer](config, layer);
  }).flat();
}

type StatesOf = (config: ModelConfig, layer: number) => readonly RowState[];

const statesOf: Readonly<Record<Mixer, StatesOf>> = {
  attention: () => [],
  conv: (config, layer) => [convolved(config, layer, config.hiddenSize)],
  delta: (config, layer) => {
    const { valueHeads, keyDim, valueDim } = deltaShape(config);
    return [
      convolved(config, layer, deltaChannels(config)),
      { name: deltaState(layer), shape: [valueHeads, keyDim, valueDim] },
    ];
  },
};

/**
 * Returns the state of a convolution: its inputs at the last `convTaps - 1` positions, on which the
 * next output also depends.
 */
const convolved = ({ convTaps = 1 }: ModelConfig, layer: number, channels: number): RowState => ({
  name: convolutionState(layer),
  shape: [convTaps - 1, channels],
});
