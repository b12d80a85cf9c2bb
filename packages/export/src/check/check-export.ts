/**
 * Compares an export with its checkpoint: runs the same prompts through both, and reports
 * differences that exceed the limits.
 */
import path from 'node:path';
import { loadTokenizer, type ChatFormat } from '@trinity-rft/chat';
import { readModelConfig } from '@trinity-rft/engine-onnx';
import { chatFormatOf, type ChatSettings } from '@trinity-rft/local';
import type { ChosenNumbers, FormatName } from '../format/formats.js';
import { compare, type Parity } from './compare.js';
import { conversations } from './conversations.js';
import { embeddedPlayer } from './embedded.js';
import { faultsOf, limitsOf, warningsOf } from './limits.js';
import { llamaPlayer } from './llama-cpp.js';
import type { PlayedPrompt, Player } from './player.js';
import { transformersPlayer } from './transformers-js.js';

export interface CheckOptions {
  /**
   * Prompts that both models run.
   * @default six conversations: plain, with a system message, with several turns, with tools
   */
  readonly prompts?: readonly PlayedPrompt[];
  /** Additional prompts, as rendered strings that the training run recorded. @default [] */
  readonly recorded?: readonly string[];
  /** Maximum number of tokens of a greedy response. @default 32 */
  readonly answerTokens?: number;
}

export interface CheckResult extends Parity {
  /** Name of the runtime that ran the export. */
  readonly runtime: string;
  /**
   * One sentence for each limit that the differences exceed; empty if the export passes the check.
   */
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
}

interface CheckedExport {
  /** Model folder of the checkpoint. */
  readonly from: string;
  /** Folder of the export. `file` is the main file in it. */
  readonly folder: string;
  readonly file: string;
  readonly target: FormatName;
  readonly numbers: ChosenNumbers;
  /** Chat settings of training. */
  readonly chat: ChatSettings;
  /** Chat format of the checkpoint, made of its tokenizer and the settings in `chat`. */
  readonly format: ChatFormat;
  readonly contextTokens: number;
  /** True if the checkpoint is an adapter beside quantised weights. */
  readonly isRounded: boolean;
}

interface CheckControl {
  readonly signal: AbortSignal | undefined;
  readonly onProgress: (line: string) => void;
}

/**
 * Compares a written export with its checkpoint.
 * @throws ConfigError if the runtime's package is not installed; CheckpointError if the runtime
 * cannot load the export
 */
export async function checkExport(
  exported: CheckedExport,
  { recorded = [], answerTokens = 32, ...options }: CheckOptions,
  { signal, onProgress }: CheckControl,
): Promise<CheckResult> {
  const { from, format, chat, target, numbers, contextTokens, isRounded } = exported;
  const prompts = [
    ...(options.prompts ?? conversations),
    ...recorded.map((text) => ({ messages: [], tools: undefined, text })),
  ];
  const theirs = await openExported(exported);
  try {
    const ours = await embeddedPlayer(from, format);
    try {
      onProgress(`Plays ${prompts.length} prompts on the checkpoint and in ${runtimes[target]}.`);
      const parity = await compare(ours, theirs, prompts, {
        format,
        parsesCalls: (chat.tool_call_parser ?? chat.tool_prompt) !== undefined,
        answerTokens,
        mostTokens: contextTokens,
        signal,
        onPrompt: (done, of) => {
          if (done % 10 === 0 || done === of) onProgress(`${done} of ${of} prompts played.`);
        },
      });
      const { activation = 'silu' } = await readModelConfig(from);
      const limits = limitsOf(numbers.precision, {
        isRounded,
        hasGeluTable: runtimes[target] === 'llama.cpp' && activation !== 'silu',
      });
      const [faults, warnings] = [faultsOf(parity, limits), warningsOf(parity)];
      return { runtime: runtimes[target], ...parity, faults, warnings };
    } finally {
      await ours.close();
    }
  } finally {
    await theirs.close();
  }
}

const runtimes: Readonly<Record<FormatName, string>> = {
  gguf: 'llama.cpp',
  ollama: 'llama.cpp',
  transformersjs: 'transformers.js',
  hf: 'the embedded engine',
};

async function openExported(exported: CheckedExport): Promise<Player> {
  const { folder, file, target, numbers, chat } = exported;
  const location = path.join(folder, file);
  // Uses the template and tokenizer of the written files, not those of the checkpoint.
  const { chat_template: _, ...settings } = chat;
  const format = chatFormatOf(await loadTokenizer(location), settings);
  if (target === 'transformersjs')
    return transformersPlayer(folder, numbers.name as Parameters<typeof transformersPlayer>[1], {
      enableThinking: chat.enable_thinking,
      ...(chat.tool_prompt !== undefined && { format }),
    });
  if (target === 'hf') return embeddedPlayer(location, format);
  return llamaPlayer(location, { exactCache: numbers.precision === 'float32', format });
}
