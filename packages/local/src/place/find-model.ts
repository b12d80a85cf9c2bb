/**
 * Finds the model at a path that the user gives: a run, a checkpoint, a model folder, a GGUF file
 * or an export.
 */
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, mean } from '@trinity-rft/core';
import { shellText } from '@trinity-rft/core/support';
import { isGguf } from '@trinity-rft/chat/gguf';
import { chatSettingsIn, checkedChatSettings, type ChatSettings } from './chat-settings.js';
import {
  checkpointsIn,
  evaluationsIn,
  isRun,
  readStages,
  runFactsOf,
  type EvaluationScore,
  type RunFacts,
} from './run-facts.js';

export interface ModelPlace {
  /** Hugging Face folder, or GGUF file. */
  readonly location: string;
  readonly chat: ChatSettings;
  /**
   * True if neither a run nor an export recorded {@link chat}. Unless a tool call parser is named,
   * the one that fits the chat template is then used.
   * @default false
   */
  readonly isPlain?: boolean;
  /** Facts about the run; undefined if the model is not a checkpoint of a run. */
  readonly run?: RunFacts;
  /**
   * Sentence that says why this checkpoint of a run was chosen. Undefined if the user gave the path
   * of the model itself.
   */
  readonly choice?: string;
}

/**
 * Finds the model at a path that the user gives.
 * @param named path of a run, a checkpoint, a Hugging Face folder, a GGUF file or an export. For a
 * run, the checkpoint with the best recorded evaluation is chosen, or the last one if none was
 * evaluated.
 * @throws ConfigError if there is no model, or `export.json` has a setting that is unknown or of
 * the wrong type
 */
export async function findModel(named: string): Promise<ModelPlace> {
  const found = await stat(named).catch(() => undefined);
  if (found === undefined)
    throw new ConfigError(
      `There is no ${named}. Name the folder of a run, a checkpoint, a model folder or a GGUF file.`,
      { code: 'MODEL_MISSING' },
    );
  if (found.isDirectory() && isRun(named)) return chooseCheckpoint(named);
  if (found.isDirectory()) await assertNoGraphs(named);
  if (found.isDirectory() || isGguf(named)) await assertNoAdapter(named);
  if (found.isDirectory() && existsSync(path.join(named, 'config.json'))) return placeOf(named);
  const exported = found.isDirectory() ? await exportedFile(named) : undefined;
  if (exported !== undefined) return placeOf(exported);
  if (found.isFile() && isGguf(named)) return placeOf(named);
  throw new ConfigError(
    `${named} is no model: expected the folder of a run, a folder with config.json, or a GGUF file.`,
    { code: 'MODEL_MISSING' },
  );
}

async function placeOf(location: string, choice?: string): Promise<ModelPlace> {
  const run = isGguf(location) ? undefined : await runFactsOf(location);
  const recorded = run ? settingsOfRun(run) : await settingsOfExport(location);
  return {
    location,
    chat: recorded ?? {},
    ...(recorded === undefined && { isPlain: true }),
    ...(run && { run }),
    ...(choice !== undefined && { choice }),
  };
}

/**
 * Returns the model with the chat settings of an adapter in place of its own, if `export.json`
 * beside the adapter recorded them.
 * @throws ConfigError if the file has a setting that is unknown or of the wrong type
 */
export async function withAdapter(place: ModelPlace, adapter: string): Promise<ModelPlace> {
  const { file } = (await exportOf(adapter)) ?? {};
  const chat = file === path.basename(adapter) ? await settingsOfExport(adapter) : undefined;
  return chat ? { ...place, chat, isPlain: false } : place;
}

function settingsOfRun({ settings }: RunFacts): ChatSettings {
  const prefix = 'explorer.rollout_model.';
  return chatSettingsIn(
    Object.fromEntries(
      Object.entries(settings)
        .filter(([key]) => key.startsWith(prefix))
        .map(([key, value]) => [key.slice(prefix.length), value]),
    ),
  );
}

/** Returns undefined if the model is not an export. */
async function settingsOfExport(location: string): Promise<ChatSettings | undefined> {
  const { version, file, chat } = (await exportOf(location)) ?? {};
  // Other programs write files of this name as well.
  if (typeof version !== 'number' || typeof file !== 'string') return undefined;
  const place = exportFileOf(location);
  const advice = 'Update @trinity-rft/local, or export the model again.';
  if (version !== 1)
    throw new ConfigError(`${place}: version is ${version}, expected 1. ${advice}`, {
      code: 'EXPORT_VERSION',
    });
  return checkedChatSettings(chat ?? {}, place, advice);
}

interface ExportFile {
  readonly version?: unknown;
  readonly file?: unknown;
  readonly chat?: unknown;
  readonly adapterOnly?: unknown;
}

const exportFileOf = (location: string): string =>
  path.join(isGguf(location) ? path.dirname(location) : location, 'export.json');

/**
 * Reads `export.json` in the model folder or next to the GGUF file. Returns undefined if it is
 * missing.
 */
async function exportOf(location: string): Promise<ExportFile | undefined> {
  const file = exportFileOf(location);
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as ExportFile;
  } catch (cause) {
    throw new ConfigError(`${file} is not JSON. Export the model again.`, {
      code: 'EXPORT_DAMAGED',
      cause,
    });
  }
}

async function exportedFile(folder: string): Promise<string | undefined> {
  const file = (await exportOf(folder))?.file;
  const place = typeof file === 'string' ? path.join(folder, file) : folder;
  return isGguf(place) ? place : undefined;
}

/** @throws ConfigError for an export to transformers.js, which has graphs instead of weights */
async function assertNoGraphs(folder: string): Promise<void> {
  const found: (ExportFile & { readonly format?: unknown }) | undefined = await exportOf(folder);
  if (found?.format !== 'transformersjs') return;
  throw new ConfigError(
    `${folder} is an export for transformers.js, which only that library runs: ask it with chat.mjs in the folder. Name a run, or an export to gguf, ollama or hf.`,
    { code: 'EXPORT_UNSUPPORTED' },
  );
}

/** @throws ConfigError for the export of an adapter alone */
async function assertNoAdapter(named: string): Promise<void> {
  const { file, adapterOnly } = (await exportOf(named)) ?? {};
  if (adapterOnly !== true || typeof file !== 'string') return;
  if (isGguf(named) && path.basename(named) !== file) return;
  const place = path.join(path.dirname(exportFileOf(named)), file);
  throw new ConfigError(
    `${named} is an adapter alone, which needs its base model. ${
      isGguf(place)
        ? `Load both: loadModel('BASE.gguf', { adapter: ${JSON.stringify(place)} }), or trinity serve --model ${shellText(`NAME=BASE.gguf+${place}`)}`
        : 'Only PEFT loads this format: name the run, or export the adapter to gguf'
    }.`,
    { code: 'EXPORT_UNSUPPORTED' },
  );
}

/**
 * Chooses a checkpoint from the last stage that has any: the one with the best evaluation, or the
 * last one if none was evaluated.
 */
async function chooseCheckpoint(run: string): Promise<ModelPlace> {
  const stages = await readStages(run);
  const names = stages.map((stage) => String(stage['stage_name']));
  for (const stage of [...names.toReversed().map((name) => path.join(run, name)), run]) {
    const checkpoints = await checkpointsIn(stage);
    const last = checkpoints.at(-1);
    if (last === undefined) continue;
    const scores = await evaluationsIn(stage);
    const evaluated = comparable(
      checkpoints.map((checkpoint) => ({ ...checkpoint, each: scores.get(checkpoint.step) ?? [] })),
    );
    const best = evaluated.toSorted(
      (a, b) => averageOf(b.each) - averageOf(a.each) || a.step - b.step,
    )[0];
    if (best) {
      const unscored = checkpoints.length - evaluated.length;
      const others = unscored === 1 ? ' 1 other has' : ` ${unscored} others have`;
      const without = unscored === 0 ? '' : `${others} no such score, ${toScore}`;
      return placeOf(best.directory, `${describeBest(best, evaluated.length)}${without}`);
    }
    const none =
      scores.size === 0 ? 'none has the score of an evaluation.' : `none has a score, ${toScore}`;
    return placeOf(last.directory, `Step ${last.step}, the last checkpoint; ${none}`);
  }
  const isBench = stages.length > 0 && stages.every(({ mode }) => mode === 'bench');
  throw new ConfigError(
    isBench
      ? `${run} has no checkpoint, because its mode is bench, which trains nothing. Name the folder of the model that it evaluated or, for the --baseline of a model behind an API, the file of trinity eval --json.`
      : `${run} has no checkpoint yet. Train until one is saved (trainer.save_interval).`,
    {
      code: 'CHECKPOINT_MISSING',
    },
  );
}

const toScore =
  'because no evaluation has measured their weights. To score all: npx trinity eval FILE --checkpoints best';

interface Evaluated {
  readonly directory: string;
  readonly step: number;
  readonly each: readonly EvaluationScore[];
}

/**
 * Returns the checkpoints whose scores can be compared, with these scores alone: those on the sets
 * on which the most checkpoints were evaluated.
 */
function comparable(checkpoints: readonly Evaluated[]): readonly Evaluated[] {
  const evaluatedOn = (set: string, of: readonly Evaluated[]): readonly Evaluated[] =>
    of.filter(({ each }) => each.some((score) => score.set === set));
  const sets = new Set(checkpoints.flatMap(({ each }) => each.map(({ set }) => set)));
  const most = [...sets]
    .map((set) => evaluatedOn(set, checkpoints))
    .reduce((longest, next) => (next.length >= longest.length ? next : longest), []);
  return most.map((checkpoint) => ({
    ...checkpoint,
    each: checkpoint.each.filter(({ set }) => evaluatedOn(set, most).length === most.length),
  }));
}

const averageOf = (scores: readonly EvaluationScore[]): number =>
  mean(scores.map(({ value }) => value));

const describeBest = ({ step, each }: Evaluated, of: number): string =>
  `Step ${step}, the best of ${of} evaluated ${of === 1 ? 'checkpoint' : 'checkpoints'}: ${each.map(({ set, metric, value }) => `${set} ${metric} ${value.toFixed(3)}`).join(', ')}.`;
