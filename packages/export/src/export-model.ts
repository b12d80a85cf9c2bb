/**
 * Exports a checkpoint: writes it in the format of another runtime, and checks the written files.
 */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { loadTokenizer, readTokenizerFiles, writeTokenizerFiles } from '@trinity-rft/chat';
import { ConfigError } from '@trinity-rft/core';
import { draftsOf, fillFolder } from '@trinity-rft/core/support';
import {
  digestFolder,
  readManifest,
  verifyFolder,
  type CheckpointFile,
  type TokenRow,
} from '@trinity-rft/core/engine';
import {
  openMergedWeights,
  openWeights,
  readModelConfig,
  type MergedWeights,
} from '@trinity-rft/engine-onnx';
import {
  chatFormatOf,
  type ChatSettings,
  type EvaluationScore,
  type LocalModel,
  type ModelPlace,
  type RunFacts,
} from '@trinity-rft/local';
import { chatProgram } from './chat-program.js';
import { checkExport, type CheckOptions, type CheckResult } from './check/check-export.js';
import { mergeLossOf, type MergeLoss } from './check/merge-loss.js';
import { openExported } from './check/open-exported.js';
import { assertFits } from './format/assert-fits.js';
import { adapterNumbers, chooseNumbers, type FormatName } from './format/formats.js';
import { writeGguf, writeOllama } from './targets/gguf.js';
import { writeHuggingFace } from './targets/hugging-face.js';
import { modelName } from './targets/model-name.js';
import type { TargetInput, Written } from './targets/target.js';
import { writeTransformersJs } from './targets/transformers-js.js';
import { assertRoom } from './room.js';

export interface ExportOptions {
  /** The model to export, as found by `findModel` of `@trinity-rft/local`. */
  readonly model: ModelPlace;
  readonly format: FormatName;
  /**
   * Data type or quantisation of the weights, as for `--quantize`. Not allowed if only the adapter
   * is exported.
   * @default `bfloat16` for hf; `q8` for transformersjs. For gguf and ollama: `Q4_K_M` if the model
   * has at least a billion weights and no adapter is merged into quantised weights, else `Q8_0`
   */
  readonly quantize?: string;
  /**
   * True to export only the checkpoint's LoRA adapter, without the base model.
   * @default false
   */
  readonly adapterOnly?: boolean;
  /** Folder to write. It must not exist, or must be empty. */
  readonly directory: string;
  /**
   * Name of the model, on one line. In file names, characters other than letters, digits, `_`, `.`
   * and `-` are replaced.
   * @default project and name of the run, otherwise the name of the folder
   */
  readonly name?: string;
  /**
   * Settings of the check, which compares checkpoint and export by running the same prompts through
   * both. @default no check
   */
  readonly check?: CheckOptions;
  /**
   * Measures the rewards of the export and compares them with those of the checkpoint. Called with
   * the export as a model, except if its weights are float32. @default no comparison
   */
  readonly compareRewards?: (exported: LocalModel) => Promise<readonly RewardComparison[]>;
  /**
   * Reads sequences that the training run recorded, for measuring {@link ExportReport.mergeLoss}.
   * Each sequence must fit into the model's context.
   * @default sequences sampled from the checkpoint
   */
  readonly recorded?: () => Promise<readonly TokenRow[]>;
  /** Signal that stops the export. The folder then does not appear. */
  readonly signal?: AbortSignal;
  /** Called with each progress message. @default no callback */
  readonly onProgress?: (line: string) => void;
}

/**
 * Comparison of a metric between checkpoint and export. Values are means over the tasks of an
 * evaluation set.
 */
export interface RewardComparison {
  readonly set: string;
  /** Name of the metric: `reward`, or `accuracy` if the training run recorded no rewards. */
  readonly metric: string;
  readonly checkpoint: number;
  readonly exported: number;
  /** Number of rollouts of the exported model that failed. Each counts as reward 0. */
  readonly failedRuns: number;
  /** 95 % confidence interval of `exported`. */
  readonly interval?: EvaluationScore['interval'];
}

/** Contents of `export.json`. */
export interface ExportReport {
  readonly version: 1;
  readonly name: string;
  readonly format: FormatName;
  /**
   * Data type or quantisation of the weights; `as stored` for a PEFT folder, whose weights are
   * copied.
   */
  readonly numbers: string;
  readonly adapterOnly: boolean;
  /** Path of the main file, relative to the folder. */
  readonly file: string;
  readonly bytes: number;
  readonly files: readonly CheckpointFile[];
  readonly source: {
    readonly checkpoint: string;
    readonly step?: number;
    /** Hub repository of the base model, or the last part of its path. */
    readonly base?: string;
    readonly evaluations?: RunFacts['evaluations'];
  };
  /** Settings for chatting with the model. Their keys are those of `explorer.rollout_model`. */
  readonly chat: ChatSettings;
  readonly notes: readonly string[];
  /**
   * Loss of precision in the file, if an adapter was merged into quantised weights and the result
   * was quantised again; otherwise undefined.
   */
  readonly mergeLoss?: MergeLoss;
  /** Result of the check; undefined if the export was not checked. */
  readonly check?: CheckResult;
  /** Comparison of rewards; undefined if they were not compared. */
  readonly rewards?: readonly RewardComparison[];
}

const writers: Readonly<Record<FormatName, (input: TargetInput) => Promise<Written>>> = {
  gguf: writeGguf,
  ollama: writeOllama,
  transformersjs: writeTransformersJs,
  hf: writeHuggingFace,
};

/**
 * Writes an export. The folder appears under its name only when it is complete. If the check fails,
 * the folder is kept, and `export.json` lists the faults.
 * @throws ConfigError for contradictory options, a folder in use, a full disk or a missing package;
 * CheckpointError for a damaged checkpoint, or a model that the format cannot represent; the reason
 * of `signal`
 */
export async function exportModel(options: ExportOptions): Promise<ExportReport> {
  const { model, format, directory, signal, onProgress = () => undefined } = options;
  const { location: from, chat, run: facts } = model;
  assertFits(options);
  await verifySource(from, signal);
  const adapter = options.adapterOnly === true ? adapterOf(from) : undefined;
  const { count: weights, beside } = await weightsIn(adapter, from);
  const isRounded = beside !== undefined && (format === 'gguf' || format === 'ollama');
  const asked = options.quantize ?? (isRounded ? 'Q8_0' : undefined);
  const numbers =
    (adapter === undefined ? undefined : adapterNumbers[format]) ??
    chooseNumbers(format, asked, weights);
  const chatFormat = chatFormatOf(await loadTokenizer(from), chat);
  const input: Omit<TargetInput, 'folder'> = {
    from,
    adapter,
    name: modelName(options.name, from, facts),
    numbers,
    chat,
    format: chatFormat,
    generationConfig: adapter ? {} : await generationConfigOf(from, chatFormat.stopTokenIds),
    contextTokens: chat.max_model_len ?? (await readModelConfig(from)).maxPositions,
    facts,
    signal,
  };
  for (const draft of await draftsOf(directory))
    onProgress(
      `${draft} is of an export that was killed. Delete it, unless it is still being written.`,
    );
  return fillFolder(directory, async (folder) => {
    signal?.throwIfAborted();
    await assertRoom(folder, weights * numbers.bytes * 1.1 + 1e7);
    onProgress(`Writes ${format} (${numbers.name}) from ${from}.`);
    const { file, ...written } = await writers[format]({ ...input, folder }).catch(
      (error: unknown) => {
        signal?.throwIfAborted();
        throw error;
      },
    );
    signal?.throwIfAborted();
    const notes = [...written.notes, ...thinkingNotes(chat)];
    await writeCompanions({ ...input, folder }, format, file);
    const files = await digestFolder(folder, signal);
    const report: ExportReport = {
      version: 1,
      name: input.name,
      format,
      numbers: numbers.name,
      adapterOnly: adapter !== undefined,
      file,
      bytes: files.reduce((sum, each) => sum + each.sizeBytes, 0),
      files,
      source: sourceOf(from, facts),
      chat,
      notes,
    };
    const policy = { checkpoint: from, format: input.format, recorded: options.recorded, signal };
    if (isRounded) onProgress('Measures what is lost by rounding again.');
    const mergeLoss = isRounded ? await mergeLossOf(path.join(folder, file), policy) : undefined;
    const check =
      options.check && (await checked({ ...input, folder, file, isRounded }, options, onProgress));
    signal?.throwIfAborted();
    const rewards = await rewardsOf({ ...input, folder, file }, options, onProgress);
    const complete = {
      ...report,
      ...(mergeLoss && { mergeLoss }),
      ...(isRounded && !mergeLoss && { notes: [...notes, unmeasured] }),
      ...(check && { check }),
      ...(rewards && { rewards }),
    };
    await writeFile(path.join(folder, 'export.json'), `${JSON.stringify(complete, null, 2)}\n`);
    signal?.throwIfAborted();
    return complete;
  });
}

/**
 * Returns a note for users of other programs if the model was trained with `enable_thinking`. Such
 * a program must pass the value to the template, which does not contain it.
 */
const thinkingNotes = ({ enable_thinking: value }: ChatSettings): readonly string[] =>
  value === undefined
    ? []
    : [
        `The model was trained with enable_thinking: ${value}. A program that does not read export.json must pass it to the chat template, for example as chat_template_kwargs.`,
      ];

const unmeasured =
  'What is lost by rounding again was not measured, because the embedded engine reads no GGUF files of this architecture: --check plays the file in llama.cpp.';

function checked(
  input: TargetInput & { readonly file: string; readonly isRounded: boolean },
  { format: target, check = {}, signal }: ExportOptions,
  onProgress: (line: string) => void,
): Promise<CheckResult> {
  return checkExport({ ...input, target }, check, { signal, onProgress });
}

async function rewardsOf(
  input: TargetInput & { readonly file: string },
  { format: target, compareRewards }: ExportOptions,
  onProgress: (line: string) => void,
): Promise<readonly RewardComparison[] | undefined> {
  if (!compareRewards || input.numbers.precision === 'float32') return undefined;
  onProgress('Evaluates the export on the evaluation tasks of the run.');
  const exported = await openExported({ ...input, target, dtype: input.numbers.name });
  try {
    return await compareRewards(exported);
  } finally {
    await exported.close();
  }
}

/**
 * Writes the files beside the weights of a whole model: `chat.mjs` and, if the export is a folder
 * of files, the chat template of training and the ids of the tokens that ended its responses.
 */
async function writeCompanions(
  { folder, adapter, chat, name, numbers, generationConfig }: TargetInput,
  format: FormatName,
  file: string,
): Promise<void> {
  if (adapter !== undefined) return;
  const chatTemplate = chat.chat_template;
  if (format === 'hf' || format === 'transformersjs') {
    const files = await readTokenizerFiles(folder);
    if (chatTemplate !== undefined) await writeTokenizerFiles(folder, { ...files, chatTemplate });
    const text = `${JSON.stringify(generationConfig, null, 2)}\n`;
    await writeFile(path.join(folder, 'generation_config.json'), text);
  }
  const program = chatProgram(format, { file, name, dtype: numbers.name, chat });
  await writeFile(path.join(folder, 'chat.mjs'), program);
}

/**
 * Returns the content of generation_config.json, in which ids that it lacks are those of
 * config.json.
 * @param ends ids of the tokens that ended responses in training. Generation also ends at the
 * `eos_token_id` of config.json
 */
async function generationConfigOf(
  from: string,
  ends: readonly number[],
): Promise<TargetInput['generationConfig']> {
  const { bosTokenId, eosTokenIds, padTokenId } = await readModelConfig(from);
  const { generationConfig } = await readTokenizerFiles(from);
  const eos = [...new Set([...ends, ...eosTokenIds])];
  return {
    bos_token_id: bosTokenId,
    pad_token_id: padTokenId,
    ...generationConfig,
    eos_token_id: eos.length > 0 ? eos : undefined,
    // With this key, transformers would take the ids of config.json instead.
    _from_model_config: undefined,
  };
}

/**
 * Verifies the files of the checkpoint.
 * @throws CheckpointError if a file has changed since it was written; the reason of `signal`
 */
async function verifySource(from: string, signal: AbortSignal | undefined): Promise<void> {
  const manifest = await readManifest(from);
  if (manifest) await verifyFolder(from, manifest, signal);
}

/**
 * Returns the folder of the checkpoint's trained adapter.
 * @throws ConfigError if there is no trained adapter
 */
function adapterOf(from: string): string {
  const folder = path.join(from, 'lora_adapter');
  if (existsSync(path.join(folder, 'adapter_model.safetensors'))) return folder;
  throw new ConfigError(
    `${from} has no lora_adapter: all weights were trained. Leave --adapter-only out.`,
    { code: 'ADAPTER_MISSING' },
  );
}

/**
 * Returns the number of weights to export and, if an adapter is merged into quantised weights,
 * those weights.
 */
async function weightsIn(
  adapter: string | undefined,
  from: string,
): Promise<Pick<MergedWeights, 'beside'> & { readonly count: number }> {
  const weights: MergedWeights =
    adapter === undefined
      ? await openMergedWeights(from)
      : await openWeights(path.join(adapter, 'adapter_model.safetensors'));
  try {
    const count = [...weights.tensors.values()].reduce(
      (sum, { shape }) => sum + shape.reduce((product, n) => product * n, 1),
      0,
    );
    return { count, ...(weights.beside && { beside: weights.beside }) };
  } finally {
    await weights.close();
  }
}

const sourceOf = (from: string, facts: RunFacts | undefined): ExportReport['source'] => ({
  checkpoint: path.basename(path.resolve(from)),
  ...(facts && { step: facts.step, evaluations: facts.evaluations }),
  ...(facts?.base !== undefined && { base: facts.baseRepository ?? path.basename(facts.base) }),
});
