/** Opens and checks the critic of a stage. */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { loadTokenizer } from '@trinity-rft/chat';
import { tokenByteTable } from '@trinity-rft/chat';
import type { StageConfig } from '@trinity-rft/config';
import { ConfigError, describeError } from '@trinity-rft/core';
import type { ValueEngine } from '@trinity-rft/core/engine';
import { criticIn } from '@trinity-rft/trainer/internal';
import { disposable } from '../../context/disposable.js';
import type { EngineTable } from '../../context/stage-context.js';
import { engineNamed } from './engines.js';
import { explainFolderErrors, modelOfStage } from './model-folder.js';

/**
 * Opens a critic if the algorithm needs one. The critic starts from the critic of the previous
 * stage. If there is none, it starts from `model.critic_model_path`, otherwise from the policy's
 * model with a new head. If the policy's engine has no value head, another engine trains the
 * critic. Critic and policy never compute at the same time, so each gets all threads and the whole
 * memory budget.
 * @throws ConfigError when the folder cannot be used
 */
export async function openCritic(
  stage: StageConfig,
  startModel: string,
  engines: EngineTable,
): Promise<(ValueEngine & AsyncDisposable) | undefined> {
  if (!stage.algorithm.needs.valueHead) return undefined;
  const engine = engineNamed(engines, stage.trainer.critic.engine);
  const open = engine.openCritic?.bind(engine);
  if (!open)
    throw new ConfigError(
      `The algorithm learns with a critic, and the engine ${engine.name} cannot open one. Choose an advantage_fn without a critic, or another engine.`,
      { code: 'ENGINE_NEEDS_UNMET' },
    );
  const { threads, memoryBudgetMb, criticModelPath, fromPreviousStage } = stage.model;
  const previous = fromPreviousStage ? await criticIn(startModel) : undefined;
  const chosen = previous === undefined ? criticModelPath : undefined;
  // The critic's engine cannot load a checkpoint of another engine, so the critic then starts from
  // `model.model_path`.
  const own = engine.name === stage.engine ? startModel : stage.model.modelPath;
  const modelPath = previous ?? chosen ?? own;
  const given =
    chosen === undefined ? modelOfStage(stage) : { key: 'model.critic_model_path', folder: chosen };
  return disposable(
    await explainFolderErrors(given, () => open({ modelPath, threads, memoryBudgetMb })),
  );
}

/**
 * Checks that {@link openCritic} can open the critic, if the critic's folder is on this disk.
 * @throws ConfigError, CheckpointError, EngineError with the reason if it cannot
 */
export async function checkCritic(stage: StageConfig, engines: EngineTable): Promise<void> {
  const { model, algorithm, trainer } = stage;
  if (!algorithm.needs.valueHead) return;
  const engine = engineNamed(engines, trainer.critic.engine);
  const { criticModelPath: given, modelPath } = model;
  if (given !== undefined) {
    if (!(await isThere(given))) return;
    await engine.checkModel?.({ modelPath: given, weights: false });
    await checkTokenizer(given, modelPath);
    return;
  }
  if (engine.name === stage.engine || !(await isThere(modelPath))) return;
  try {
    await engine.checkModel?.({ modelPath });
  } catch (cause) {
    throw new ConfigError(
      `is not set, so the critic would start from model.model_path, trained here by the engine "${engine.name}": ${describeError(cause)} Name a folder with weights and the same tokenizer, which may be of a smaller model.`,
      { code: 'CRITIC_UNUSABLE', cause },
    );
  }
}

const isThere = async (file: string): Promise<boolean> =>
  (await stat(file).catch(() => undefined)) !== undefined;

/** Compares the tokenizers of two folders. Does nothing if one of the folders has no tokenizer. */
async function checkTokenizer(critic: string, policy: string): Promise<void> {
  const folders = [critic, policy];
  const found = await Promise.all(
    folders.map((folder) => isThere(path.join(folder, 'tokenizer.json'))),
  );
  if (found.includes(false)) return;
  const [of = [], expected = []] = await Promise.all(
    folders.map(async (folder) => tokenByteTable(await loadTokenizer(folder))),
  );
  const other = expected.findIndex((bytes, id) => Buffer.compare(bytes, of[id] ?? empty) !== 0);
  if (other < 0) return;
  throw new ConfigError(
    `${critic} has another text for the token id ${other} than model.model_path. The critic reads the ids of the policy: choose a model with the same tokenizer.`,
    { code: 'CRITIC_UNUSABLE' },
  );
}

const empty = new Uint8Array();
