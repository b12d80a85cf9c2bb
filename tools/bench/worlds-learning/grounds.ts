/** The worlds of the bench: how hard, how much is shown before, and how long the training is. */

type Tree = Readonly<Record<string, unknown>>;

export interface Ground {
  readonly environment: string;
  readonly args: Tree;
  /** Instead of the instructions, which are long for so small a model. */
  readonly systemPrompt: string;
  readonly model: {
    readonly hiddenSize: number;
    readonly layers: number;
    readonly heads: number;
    readonly kvHeads: number;
    readonly headDim: number;
    readonly maxPositions: number;
  };
  readonly demonstrations: number;
  readonly warmupSteps: number;
  readonly promptTokens: number;
  readonly responseTokens: number;
  readonly algorithm: Tree;
  readonly steps: number;
  readonly workflowArgs?: Tree;
  /** Strings that are one token each. */
  readonly words?: readonly string[];
}

const small = { hiddenSize: 64, layers: 3, heads: 4, kvHeads: 2, headDim: 16 };
const grpo = { algorithm_type: 'grpo', repeat_times: 8 };
const lake: Ground = {
  environment: 'frozen_lake',
  args: { level: 2 },
  systemPrompt: 'walk',
  model: { ...small, maxPositions: 512 },
  demonstrations: 256,
  warmupSteps: 150,
  promptTokens: 480,
  responseTokens: 8,
  algorithm: grpo,
  steps: 60,
  workflowArgs: { max_turns: 8 },
  words: ['left', 'right', 'up', 'down', '```', 'What is your next step?'],
};

export const grounds: Readonly<Record<string, Ground>> = {
  frozen_lake: lake,
  'frozen_lake gigpo': { ...lake, algorithm: { algorithm_type: 'gigpo', repeat_times: 8 } },
  countdown: {
    environment: 'countdown',
    args: { level: 1 },
    systemPrompt: 'count',
    model: { ...small, maxPositions: 96 },
    demonstrations: 2048,
    warmupSteps: 400,
    promptTokens: 64,
    responseTokens: 30,
    algorithm: grpo,
    steps: 150,
    words: ['<answer>', '</answer>', 'Numbers: ', 'Target: '],
  },
};
