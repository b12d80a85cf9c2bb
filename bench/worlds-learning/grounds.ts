/** Environments of the bench: their difficulty, the number of demonstrations, and the length of the training. */

import { chatTemplates } from '../../packages/chat/src/index.ts';

type Tree = Readonly<Record<string, unknown>>;

export interface Ground {
  readonly environment: string;
  readonly args: Tree;
  readonly workflowArgs?: Tree;
  /** System prompt instead of the environment's instructions, which are too long for so small a model. */
  readonly systemPrompt: string;
  readonly model: {
    readonly hiddenSize: number;
    readonly layers: number;
    readonly heads: number;
    readonly kvHeads: number;
    readonly headDim: number;
    readonly maxPositions: number;
  };
  /** Matches the words that become one token each, if the demonstrations contain them several times. */
  readonly words: RegExp;
  /** Further words of the vocabulary: texts of the template, and observations after impossible actions. */
  readonly marks?: readonly string[];
  /** Jinja template. @default the minimal one, which does not print tools */
  readonly chatTemplate?: string;
  readonly promptTokens: number;
  readonly responseTokens: number;
  /** Warm-up in rounds of this many steps, until the mean reward has reached `until`. */
  readonly warmup: Stage & { readonly demonstrations: number; readonly until: number };
  readonly training: Stage & { readonly algorithm: Tree };
}

interface Stage {
  readonly steps: number;
  /** Number of tasks per training step, and of conversations per warm-up step. */
  readonly batch: number;
  readonly learningRate: number;
}

const size = { hiddenSize: 64, layers: 3, heads: 4, kvHeads: 2, headDim: 16 };
const grpo = { algorithm_type: 'grpo', repeat_times: 8, kl_loss_fn: 'none' };

const lake: Ground = {
  environment: 'frozen_lake',
  args: { level: 1 },
  workflowArgs: { max_turns: 6 },
  systemPrompt: 'walk',
  model: { ...size, maxPositions: 128 },
  words: /```|up|down|left|right|What is your next step\?|[A-Z_] [A-Z_] [A-Z_]\n/g,
  marks: ['You cannot go ', ': the lake ends there.', 'That is no step. Write '].concat([
    'No action found. Write one as ```{action}```',
  ]),
  promptTokens: 120,
  responseTokens: 8,
  warmup: { demonstrations: 2048, steps: 10, batch: 32, learningRate: 4e-3, until: 0.3 },
  training: { steps: 80, batch: 16, learningRate: 1e-3, algorithm: grpo },
};

/** Derives settings that differ only in the algorithm. */
const by = (algorithm_type: string, ground: Ground): Ground => ({
  ...ground,
  training: { ...ground.training, algorithm: { ...grpo, algorithm_type } },
});

export const grounds: Readonly<Record<string, Ground>> = {
  frozen_lake: lake,
  'frozen_lake gigpo': by('gigpo', lake),
  'frozen_lake multi_step_grpo': by('multi_step_grpo', lake),
  household: {
    environment: 'household',
    args: { level: 1, expert: 'search' },
    workflowArgs: { max_turns: 10 },
    systemPrompt: 'tidy',
    model: { ...size, maxPositions: 256 },
    words:
      /<\/?action>|You are in the middle of a room\. You see a|\nYour task is to: put some|\. (In|On) the|, you see a|, you see nothing\.|You (arrive at|open|pick up) the|\. The| is closed\.|, (and )?a| ?(go|take|put|open)\b( to)?| (from|in\/on|in)\b| [a-z]{3,}| \d/g,
    marks: ['Nothing happens.', 'No action found. Write one as <action>{action}</action>'],
    promptTokens: 240,
    responseTokens: 12,
    warmup: { demonstrations: 2048, steps: 25, batch: 32, learningRate: 4e-3, until: 0.25 },
    training: { steps: 100, batch: 32, learningRate: 5e-4, algorithm: grpo },
  },
  tool_call: {
    environment: 'tool_call',
    args: { level: 2, rows: 'generated' },
    workflowArgs: { max_turns: 1 },
    systemPrompt: 'call',
    model: { ...size, maxPositions: 128 },
    words: /[A-Za-z_]+|\d+/g,
    marks: ['<tool_call>{"name": "', '", "arguments": {"', '": "', '": ', '", "', ', "'].concat([
      '"}}</tool_call>',
      '}}</tool_call>',
    ]),
    chatTemplate: `{%- for tool in tools or [] %}{{- tool.function.name + '\\n' }}{%- endfor %}${chatTemplates.minimal}`,
    promptTokens: 84,
    responseTokens: 40,
    warmup: { demonstrations: 2048, steps: 10, batch: 64, learningRate: 4e-3, until: 0.15 },
    training: { steps: 150, batch: 32, learningRate: 1e-3, algorithm: grpo },
  },
  webshop: {
    environment: 'webshop',
    args: { level: 1 },
    workflowArgs: { max_turns: 6 },
    systemPrompt: 'shop',
    model: { ...size, maxPositions: 768 },
    words:
      /<action>(search|click)\[|\]<\/action>|B0[A-Z0-9]{8}|\[(clicked )?button\] | \[(clicked )?button_\]\n*|(WebShop\n)?Instruction:\n|Back to Search|Next >|< Prev|\n*Page \d+ \(Total results: \d+\)|Buy Now|You have clicked |Price: |Rating: [\d.]+|, Series \d+|\$[\d.]+\n*|,? and price lower than| [\d.]+ dollars| ?[A-Za-z]{2,}| \d+/g,
    promptTokens: 720,
    responseTokens: 40,
    warmup: { demonstrations: 1024, steps: 25, batch: 16, learningRate: 4e-3, until: 0.15 },
    training: { steps: 60, batch: 16, learningRate: 1e-3, algorithm: grpo },
  },
  countdown: {
    environment: 'countdown',
    args: { level: 1 },
    systemPrompt: 'count',
    model: { ...size, maxPositions: 96 },
    words: /<\/?answer>|[A-Z][a-z]+: |\d+/g,
    promptTokens: 64,
    responseTokens: 30,
    warmup: { demonstrations: 8192, steps: 128, batch: 64, learningRate: 4e-3, until: 0.08 },
    training: { steps: 200, batch: 32, learningRate: 1e-3, algorithm: grpo },
  },
};
