/**
 * Checks that a stage can train and sample with the weights that it starts with, which may be
 * quantised.
 */
import type { KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';
import type { Disk } from '../base/disk.js';
import type { AdapterShape, ContinuedAdapter, StageConfig } from '../base/resolved.js';
import { linearModulesOf, readModelFolder } from './model-folder.js';

const key: KeyPath = ['model', 'quantization'];

type Checked = Pick<StageConfig, 'mode' | 'engine' | 'model' | 'sampler'>;

/** A problem at a key, and other keys that cause the problem. */
interface WeightsProblem {
  readonly key: KeyPath;
  readonly message: string;
  readonly uses?: readonly KeyPath[];
}

export function checkWeights(context: StageContext, stage: Checked): void {
  const problem = weightsProblem(stage, context.disk);
  if (problem) context.report(problem.key, problem.message, problem.uses);
}

/** Returns the first reason why a stage cannot use its weights, or undefined if there is none. */
export function weightsProblem(stage: Checked, disk: Disk): WeightsProblem | undefined {
  const { continued } = stage.model.base;
  const problems = continued ? continuedProblems(stage, continued, disk) : ownProblems(stage, disk);
  return problems.find((problem) => problem !== false);
}

type Problems = readonly (WeightsProblem | false)[];

const otherProgram =
  'another program samples, from weights that are not quantised, so what is sampled would differ from what is trained';

const samplesElsewhere = ({ mode, sampler }: Checked): boolean =>
  sampler !== undefined && mode !== 'bench' && mode !== 'train';

/**
 * Returns the problems of weights that the stage quantises itself, or reads from a quantised GGUF
 * file.
 */
function ownProblems(stage: Checked, disk: Disk): Problems {
  const { mode, model } = stage;
  const { quantization: given, lora, modelPath, isLocal, fromPreviousStage, base } = model;
  const isQuantized = base.quantization !== undefined;
  const isGiven = given !== undefined && given !== 'none' && mode !== 'bench';
  const refuse = (why: string, uses: readonly KeyPath[] = []): WeightsProblem => ({
    key,
    message: `got "${given}", but ${why}`,
    uses,
  });
  return [
    // With `device: auto`, models with quantised weights run on the CPU.
    isQuantized &&
      model.device === 'webgpu' && {
        key: ['model', 'device'],
        message:
          'got "webgpu", but only the CPU computes with quantised weights. Set quantization: none, or cpu.',
        uses: [key],
      },
    isGiven &&
      lora === undefined &&
      refuse(
        'all weights are trained: a step changes a weight by less than the distance of two integers, so nothing would be learned. Set lora_configs, or use none.',
        [['model', 'lora_configs']],
      ),
    isGiven && !base.canQuantize && refuse('this engine does not quantise. Remove the key.'),
    isGiven && samplesElsewhere(stage) && refuse(`${otherProgram}. Use none.`),
    isQuantized &&
      samplesElsewhere(stage) && {
        key: ['model', 'model_path'],
        message: `got ${modelPath}, whose quantised weights a stage with lora_configs keeps by default, but ${otherProgram}. Set model.quantization: none.`,
      },
    isGiven &&
      given === 'file' &&
      fromPreviousStage &&
      refuse(
        'the stage starts from a checkpoint of the stage before, whose weights are floating point numbers. Use int8 or int4, which rounds them, none, or set model_path in this stage.',
      ),
    isGiven &&
      given === 'file' &&
      isLocal &&
      !disk.isQuantizedGguf(modelPath) &&
      refuse(
        `${modelPath} is not a GGUF file with quantised weights, such as Q8_0 or Q4_K_M. Use int8 or int4, which rounds the weights when they are loaded.`,
        [['model', 'model_path']],
      ),
  ];
}

/** Returns the problems of a stage that must continue an adapter on quantised weights. */
function continuedProblems(
  stage: Checked,
  { quantization, adapter, modelPath }: ContinuedAdapter,
  disk: Disk,
): Problems {
  const { mode, engine, model } = stage;
  const { quantization: given, lora, device, fromPreviousStage } = model;
  const [origin, another] = fromPreviousStage
    ? ['that the previous stage trains', 'set model_path in this stage']
    : [`of ${model.modelPath}, which was trained`, 'give another model_path'];
  const found = `this stage continues the adapter ${origin} on quantised weights (${quantization})`;
  const trains = mode === 'both' || mode === 'train';
  const size = adapter && adapterText(adapter);
  const problem = (path: KeyPath, got: string, fix: string): WeightsProblem => ({
    key: path,
    message: `${got}, but ${found}${fix}, or ${another}.`,
  });
  const loraKey = ['model', 'lora_configs'];
  return [
    given !== undefined &&
      given !== quantization &&
      (trains || lora !== undefined) &&
      problem(key, `got "${given}"`, `. Use ${quantization}`),
    trains &&
      lora === undefined &&
      problem(loraKey, 'is not set', `: ${size ?? 'see its folder'}. Set the same`),
    lora !== undefined &&
      !model.base.canQuantize &&
      problem(
        ['trainer', 'trainer_type'],
        `the engine "${engine}" does not quantise`,
        '. Use another engine',
      ),
    device === 'webgpu' &&
      problem(
        ['model', 'device'],
        'got "webgpu"',
        ', and only the CPU computes with quantised weights. Use cpu',
      ),
    lora?.path !== undefined &&
      problem(
        [...loraKey, 0, 'path'],
        `got "${lora.path}"`,
        '. Give lora_rank, lora_alpha and target_modules of that adapter instead',
      ),
    adapter !== undefined &&
      lora !== undefined &&
      lora.path === undefined &&
      !isSameAdapter(adapter, lora, { modelPath, disk }) &&
      problem(loraKey, `got ${adapterText(lora)}`, `: ${size}. Use the same`),
    samplesElsewhere(stage) &&
      problem(
        ['explorer', 'rollout_model', 'base_url'],
        'is set',
        `, and ${otherProgram}. Remove it`,
      ),
  ];
}

const adapterText = ({ rank, alpha, targetModules = [] }: AdapterShape): string =>
  [`rank ${rank}`, `alpha ${alpha}`, ...[targetModules].flat()].join(', ');

/**
 * Returns true if two adapters have the same rank, alpha and layers. The model at `modelPath`
 * determines the layers of `all-linear`.
 */
function isSameAdapter(
  one: AdapterShape,
  other: AdapterShape,
  { modelPath, disk }: Pick<ContinuedAdapter, 'modelPath'> & { readonly disk: Disk },
): boolean {
  if (one.rank !== other.rank || one.alpha !== other.alpha) return false;
  const [a, b] = [one.targetModules, other.targetModules];
  if (a === undefined || b === undefined || a === b) return true;
  const read = readModelFolder(disk, modelPath);
  const shape = read.kind === 'shape' && !read.shape.experts ? read.shape : undefined;
  const isOpen = a === 'all-linear' || b === 'all-linear';
  // The engine compares the layers when it opens the model.
  if (isOpen && shape === undefined) return true;
  const [layers, others] = [a, b].map(
    (names) => new Set(names === 'all-linear' ? linearModulesOf(shape) : names),
  );
  return layers!.symmetricDifference(others!).size === 0;
}
