import { alignColumns } from '@trinity-rft/core/support';
import { cachedTokens } from './gpu.js';
import type { RunPlan, StagePlan } from './plan.js';

/** Renders a plan as text, without a newline at the end. */
export function renderPlan(plan: RunPlan): string {
  const { stages } = plan;
  return [
    `${plan.name} (seed ${plan.seed})`,
    `${plan.resume ? 'continues in' : 'writes to'} ${plan.jobDirectory}`,
    ...stages.flatMap((stage, index) => ['', ...renderStage(stage, index, stages.length)]),
  ].join('\n');
}

type Row = readonly [label: string, text: string];

function renderStage(stage: StagePlan, index: number, total: number): readonly string[] {
  const name = stage.stageName === undefined ? '' : ` ${stage.stageName}`;
  const title = total === 1 && name === '' ? 'Run' : `Stage ${index + 1} of ${total}${name}`;
  const rows: readonly Row[] = [
    ['model', stage.model],
    ...(stage.part === undefined ? [] : [['process', partTexts[stage.part]] as const]),
    ...serverRows(stage),
    ...pipelineRows(stage),
    ...stage.graders.map(({ taskset, grader }) => ['graded by', `${grader} (${taskset})`] as const),
    ...explorerRows(stage),
    ...trainerRows(stage),
    ...evalRows(stage),
    ...memoryRows(stage),
    ...gpuRows(stage),
    ...timeRows(stage),
    ...costRows(stage),
    ...algorithmRows(stage),
    ['files', stage.files.join(', ')],
  ];
  return [
    `${title}: mode ${stage.part ?? stage.mode}, ${stage.algorithmType}`,
    ...alignColumns(rows, '  '),
  ];
}

/**
 * Returns the rows for the servers that must be started before the training run, with the required
 * options.
 */
const serverRows = (stage: StagePlan): readonly Row[] => [
  ...tinkerRows(stage),
  ...(stage.external === undefined ? [] : [['answers', stage.external] as const]),
  ...stage.servers.flatMap(({ url, note, command }): Row[] => [
    ['samples on', `${url}${note}, started with`],
    ['', command],
  ]),
  ...processRows(stage),
];

function tinkerRows({ tinker, servers, mode, part }: StagePlan): readonly Row[] {
  if (tinker === undefined) return [];
  const label = mode === 'bench' || part === 'explore' ? 'samples on' : 'trains on';
  const isBoth = mode === 'both' && part === undefined && servers.length === 0;
  const also = isBoth ? ', which samples as well' : '';
  const { url, program, note, files, command } = tinker;
  if (url === undefined) return [[label, `hosted Tinker${also}; its key is in TINKER_API_KEY`]];
  return [
    [label, `${url}${also}; a ${program} server is started with${note}`],
    ...files.map((line) => ['', line] as const),
    ['', command ?? ''],
  ];
}

function processRows({ processes: { commands, database } }: StagePlan): readonly Row[] {
  const [first, ...others] = commands;
  if (first === undefined) return [];
  const meets: readonly Row[] = database
    ? [
        ['meets in', `${database.place}, started with`],
        ['', database.command],
      ]
    : [];
  const named = others.map((command) => `${command}   # any number, each with a name of its own`);
  return [...meets, ['processes', first], ...named.map((line) => ['', line] as const)];
}

/**
 * Returns the rows for task pipelines. Counts are upper bounds if an operator that calls a model
 * has not been applied yet.
 */
const pipelineRows = ({ pipelines }: StagePlan): readonly Row[] =>
  pipelines.map(({ taskset, kept, read, dropped, isBound }) => [
    'tasks',
    `the task pipeline keeps ${isBound ? 'at most ' : ''}${kept} of ${read} tasks of ${taskset}${dropped === '' ? '' : `; left out: ${dropped}`}`,
  ]);

function explorerRows({ mode, steps, pipelines }: StagePlan): readonly Row[] {
  if (mode !== 'both') return [];
  const bound = pipelines.some(({ isBound }) => isBound) ? 'at most ' : '';
  const tasks = steps.rows === undefined ? '' : ` from ${bound}${steps.rows} tasks`;
  const drawn = range(steps.tasksPerExploreStep, steps.mostTasksPerExploreStep);
  const most = steps.mostTasksPerExploreStep * steps.runsPerTask;
  const experiences = range(steps.experiencesPerExploreStep, most);
  const count = range(steps.leastExploreSteps, steps.exploreSteps);
  const each = `${drawn} tasks x ${steps.runsPerTask} runs = ${experiences} experiences or more`;
  return [
    ['explore', `${count} steps${tasks}, each ${each}`],
    ['sync', `${known(steps.syncs)} weight updates, staleness ${boundText(steps)}`],
  ];
}

function boundText({ maxStaleness }: StagePlan['steps']): string {
  if (maxStaleness === undefined) return 'unbounded: set synchronizer.max_staleness for a bound';
  return `at most ${maxStaleness} explore step${maxStaleness === 1 ? '' : 's'}`;
}

const partTexts = {
  explore: 'makes runs for the trainer of this run, beside other explorers',
  train: 'plans the tasks, and trains on what explorers make of them',
} as const;

function trainerRows({ mode, part, steps, rowWord }: StagePlan): readonly Row[] {
  if (mode === 'bench' || part === 'explore') return [];
  const perStep =
    mode !== 'both'
      ? ''
      : steps.trainStepsPerExploreStep === undefined
        ? `; their number depends on ${steps.trainBatchUnit === 'experiences' ? 'how often the runs call the model' : 'what replay_buffer repeats'}`
        : `, ${round(steps.trainStepsPerExploreStep)} per explore step`;
  const count = range(steps.leastTrainSteps, steps.trainSteps);
  return [['train', `${count} steps of ${steps.trainBatchSize} ${rowWord}${perStep}`]];
}

function evalRows({ steps }: StagePlan): readonly Row[] {
  if (steps.evaluations === 0) return [];
  return [['evaluate', `${known(steps.evaluations)} times, ${known(steps.evalTasks)} runs each`]];
}

function memoryRows({ runsRemotely, memory }: StagePlan): readonly Row[] {
  if (runsRemotely && !memory?.total) return [];
  if (memory === undefined) return [['memory', 'unknown until the model is on this disk']];
  const parts: readonly (readonly [string, number])[] = [
    ['weights', memory.weights],
    ['copies', memory.copies],
    ['gradients', memory.gradients],
    ['moments', memory.moments],
    ['activations', memory.activations],
    ['critic', memory.critic],
    ['key-value cache at most', memory.keyValueCache],
    ['auxiliary models at most', memory.auxiliary],
  ];
  const shown = parts.flatMap(([name, size]) => (size > 0 ? [`${name} ${mebibytes(size)}`] : []));
  const parameters = `${(memory.parameters / 1e6).toFixed(1)} M parameters`;
  return [
    [
      'memory',
      `about ${mebibytes(memory.total)} at the peak for ${parameters}: ${shown.join(', ')}`,
    ],
  ];
}

const verdicts = {
  fits: 'is enough',
  asleep: 'is enough only if vLLM sleeps while TuFT trains',
  no: 'is not',
} as const;

function gpuRows({ gpu }: StagePlan): readonly Row[] {
  if (gpu === undefined) return [];
  const { trainer, sampler, fits } = gpu;
  const said = fits.map(({ size, verdict }) => `${size} GB ${verdicts[verdict]}`).join(', ');
  const tuft = `about ${Math.round(trainer)} GB for TuFT`;
  const vllm = `${Math.round(sampler)} GB for vLLM with ${cachedTokens} tokens in its cache`;
  return [['one GPU', `${tuft} and ${vllm}: ${said}`]];
}

function timeRows({ time, mode }: StagePlan): readonly Row[] {
  if (time === undefined) return [];
  const { sampling, training, cores } = time;
  const parts =
    mode === 'train' ? '' : `: sampling ${duration(sampling)}, training ${duration(training)}`;
  const bound = `at most about ${duration(sampling + training)} on ${cores} cores`;
  const when = 'if every text is as long as it may be, at one call of the model for each run';
  return [['time', `${bound}, ${when}${parts}`]];
}

function duration(seconds: number): string {
  const [unit, name] = seconds < 90 ? [1, 's'] : seconds < 5400 ? [60, 'min'] : [3600, 'h'];
  return `${Math.max(1, Math.round(seconds / unit))} ${name}`;
}

/**
 * Returns the row for the upper bound of the price, if every prompt and response has the maximum
 * length.
 */
function costRows({ cost }: StagePlan): readonly Row[] {
  if (cost === undefined) return [];
  const parts = cost.parts
    .filter(({ tokens }) => tokens > 0)
    .map(({ kind, tokens, price }) => {
      const each = price === undefined ? 'without a price' : `at $${price} a million`;
      return `${kind} ${(tokens / 1e6).toPrecision(3)} M tokens ${each}`;
    });
  const total = `at most $${cost.total.toFixed(2)}, at one call of the model for each run`;
  return [['cost', `${total}: ${parts.join(', ')}`]];
}

/** Returns the rows for the parts of the algorithm, with all arguments, including defaults. */
function algorithmRows({ mode, parts, lossAggMode }: StagePlan): readonly Row[] {
  if (mode === 'bench') return [];
  const shown = parts.map(({ key, name, args }): Row => {
    const given = Object.entries(args).map(
      ([arg, value]) => `${arg}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
    );
    return [key, given.length === 0 ? name : `${name} { ${given.join(', ')} }`];
  });
  return [...shown, ['loss_agg_mode', lossAggMode]];
}

function known(count: number | undefined): string {
  return count === undefined ? 'unknown' : String(count);
}

/**
 * Returns a range such as `8 to 80`. Returns one number if both limits are equal, and `unknown` if
 * the upper limit is undefined.
 */
function range(least: number | undefined, most: number | undefined): string {
  return least === most || most === undefined ? known(most) : `${known(least)} to ${known(most)}`;
}

function round(count: number): string {
  return Number.isInteger(count) ? String(count) : count.toFixed(2);
}

function mebibytes(size: number): string {
  return size >= 1024
    ? `${(size / 1024).toFixed(1)} GiB`
    : `${size < 10 ? size.toFixed(1) : Math.round(size)} MiB`;
}
