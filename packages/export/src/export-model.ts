/** Exports a checkpoint: writes it in the format of another runtime, and checks what was written. */
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createChatFormat, loadTokenizer, type ChatFormat } from '@trinity-rft/chat';
import { CheckpointError } from '@trinity-rft/core';
import { readManifest, verifyFolder } from '@trinity-rft/core/engine';
import { chatProgram } from './chat-program.js';
import { checkExport, type CheckOptions, type CheckResult } from './check/check-export.js';
import { chooseNumbers, type ChosenNumbers, type FormatName } from './formats.js';
import { runFactsOf, type RunFacts } from './run-facts.js';
import { writeGguf, writeOllama } from './targets/gguf.js';
import { writeHuggingFace } from './targets/hugging-face.js';
import type { TargetInput, Written } from './targets/target.js';
import { writeTransformersJs } from './targets/transformers-js.js';
import { fillFolder } from './target-folder.js';

export interface ExportOptions {
  /** Model folder: a checkpoint, or any Hugging Face folder that the embedded engine reads. */
  readonly from: string;
  readonly format: FormatName;
  /** Number format. @default by format and size: 8 bits below a billion weights */
  readonly quantize?: string;
  /** The LoRA adapter of the checkpoint, without the model that it belongs to. @default false */
  readonly adapterOnly?: boolean;
  /** Folder to write, which does not exist or is empty. */
  readonly directory: string;
  /** @default project and name of the run, else the name of the folder */
  readonly name?: string;
  /** Plays prompts on both sides. @default no check */
  readonly check?: CheckOptions;
  readonly signal?: AbortSignal;
  /** Progress, line by line. @default no callback */
  readonly onProgress?: (line: string) => void;
}

/** Plain data; `export.json` holds it. */
export interface ExportReport {
  readonly version: 1;
  readonly name: string;
  readonly format: FormatName;
  readonly numbers: string;
  readonly adapterOnly: boolean;
  /** Main file, relative to the folder. */
  readonly file: string;
  readonly bytes: number;
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly sha256: string }[];
  readonly source: {
    readonly checkpoint: string;
    readonly step?: number;
    readonly base?: string;
    readonly evaluations: RunFacts['evaluations'];
  };
  /** How the model is talked to, under the keys of `explorer.rollout_model`. */
  readonly chat: Readonly<Record<string, unknown>>;
  readonly notes: readonly string[];
  /** Undefined: not checked. */
  readonly check?: CheckResult;
}

const writers: Readonly<Record<FormatName, (input: TargetInput) => Promise<Written>>> = {
  gguf: writeGguf,
  ollama: writeOllama,
  transformersjs: writeTransformersJs,
  hf: writeHuggingFace,
};

/**
 * The folder appears when it is complete; a failed check leaves it, with the faults in `export.json`.
 * @throws ConfigError for options that do not fit together, a folder in use, a full disk, a missing
 * package; CheckpointError for a damaged checkpoint, and for a model that the format cannot hold
 */
export async function exportModel(options: ExportOptions): Promise<ExportReport> {
  const { from, format, directory, check, signal, onProgress = () => undefined } = options;
  await verifySource(from);
  const facts = await runFactsOf(from);
  const chat = chatSettingsOf(facts);
  const adapter = options.adapterOnly === true ? adapterOf(from, format) : undefined;
  const weights = await bytesOfWeights(from);
  const numbers = chooseNumbers(format, options.quantize, weights / 4);
  const name = options.name ?? nameOf(from, facts);
  const chatFormat = await formatOf(from, chat);
  const contextTokens = await contextOf(from, facts);
  const base = { from, adapter, name, numbers, format: chatFormat, contextTokens, facts, signal };
  const usesTools = chat['tool_call_parser'] !== undefined;
  return fillFolder(directory, (weights / 4) * numbers.bytes * 1.1 + 1e6, async (folder) => {
    onProgress(`Writes ${format} (${numbers.name}) from ${from}.`);
    const { file, notes } = await writers[format]({ ...base, folder, usesTools });
    const program = { file, name, dtype: numbers.name, toolCallParser: textOf(chat['tool_call_parser']) };
    if (adapter === undefined) await writeFile(path.join(folder, 'chat.ts'), chatProgram(format, program));
    const files = await digestsOf(folder);
    const report: ExportReport = {
      version: 1,
      name,
      format,
      numbers: numbers.name,
      adapterOnly: adapter !== undefined,
      file,
      bytes: files.reduce((sum, each) => sum + each.bytes, 0),
      files,
      source: {
        checkpoint: path.basename(path.resolve(from)),
        step: facts?.step,
        base: facts?.base === undefined ? undefined : path.basename(facts.base),
        evaluations: facts?.evaluations ?? [],
      },
      chat,
      notes,
      check:
        check &&
        (await checkExport({ ...base, folder, file, target: format }, check, { signal, onProgress })),
    };
    await writeFile(path.join(folder, 'export.json'), `${JSON.stringify(report, null, 2)}\n`);
    return report;
  });
}
