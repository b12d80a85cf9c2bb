/**
 * `pnpm bench engines-apart`: a trainer on a real TuFT server and two explorers on a real vLLM server
 * with a bfloat16 model. They are separate processes over PostgreSQL, and adapters travel through the
 * database. The trainer and then an explorer are killed (SIGKILL) and restarted. Exits with 1 if
 * anything was lost or done twice. Installs TuFT and vLLM for this machine's processor into the cache.
 */
import { globSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { halfPrecision } from '../packages/launcher/test/support/half-precision.ts';
import { findTuft, startTuft, tuftKey } from '../packages/launcher/test/support/tuft.ts';
import { findVllm, startVllm } from '../packages/launcher/test/support/vllm.ts';
import { readCurve } from '../packages/monitor/src/index.ts';
import { startPostgres } from '../tests/support/src/postgres/start-postgres.ts';
import { writeDigitsData } from './digits/run.ts';
import { acknowledged, countsOf } from './kills/facts.ts';
import { startAll } from './kills/processes.ts';
import { jobOf, type Role, type RunPlace, type Sections } from './kills/workspace.ts';

const totalSteps = 20;
/** Kills by progress of the run. They avoid steps at which a checkpoint was just saved. */
const kills: readonly { readonly role: Role; readonly step: number }[] = [
  { role: 'trainer', step: 7 },
  { role: 'e1', step: 13 },
];
const rank = 4;
const root = mkdtempSync(path.join(tmpdir(), 'trinity-engines-apart-'));
const begun = performance.now();
const say = (text: string): void => {
  const seconds = ((performance.now() - begun) / 1000).toFixed(0);
  process.stdout.write(`${seconds.padStart(4)} s: ${text}\n`);
};

interface Servers {
  readonly tuft: string;
  readonly vllm: string;
}

const onServers =
  ({ tuft, vllm }: Servers) =>
  ({ buffer, model, explorer, trainer, ...rest }: Sections): object => ({
    ...rest,
    model: {
      ...model,
      model_path: 'half',
      tinker: { base_url: tuft, base_model: 'half', rank, seed: 3 },
    },
    buffer: { ...buffer, total_steps: totalSteps },
    explorer: {
      ...explorer,
      rollout_model: { engine_type: 'vllm', base_url: vllm, dtype: 'bfloat16' },
    },
    trainer: { ...trainer, trainer_type: 'tinker', grad_clip: 0 },
  });

/** Runs the processes, kills them as planned, and returns the problems that were found. */
async function disturb(place: RunPlace): Promise<readonly string[]> {
  const processes = startAll(place);
  let isOver = false;
  void processes.ended.finally(() => {
    isOver = true;
  });
  const before = [];
  for (const { role, step } of kills) {
    while (!isOver && (await acknowledged(place)).trainStep < step) await pause(200);
    const now = await acknowledged(place);
    before.push(now);
    processes
      .running()
      .find((post) => post.role === role)
      ?.child.kill('SIGKILL');
    say(`${role} killed after train step ${now.trainStep}, with ${now.results.size} results`);
  }
  const problems = await processes.ended;
  const end = await acknowledged(place);
  say(`ended with train step ${end.trainStep}`);
  const lost = before.flatMap(({ results }) =>
    [...results].filter(([task, result]) => end.results.get(task) !== result),
  );
  return [
    ...problems,
    ...(lost.length > 0 ? [`${lost.length} results are lost or others`] : []),
    ...(end.trainStep === totalSteps ? [] : [`the run has ${end.trainStep} train steps`]),
  ];
}

async function judge(place: RunPlace): Promise<readonly string[]> {
  const { counts, late } = await countsOf(place);
  say(
    `${Object.entries(counts)
      .map(([what, count]) => `${what} ${count}`)
      .join(', ')}, late ${late}`,
  );
  const file = path.join(jobOf(place, 1), 'monitor', 'metrics.jsonl');
  const rewards = await readCurve(file, { role: 'explorer', metric: 'rollout/reward/mean' });
  const metric = 'training/rollout_logprobs_diff_mean';
  const differences = await readCurve(file, { role: 'trainer', metric });
  say(`rewards ${rewards.map((value) => value.toFixed(2)).join(' ')}`);
  say(
    `log-probabilities of sampler and trainer differ by at most, on average of a step, ${Math.max(...differences)}`,
  );
  say(`the newest weights that an explorer has read: ${newestWeights(place)}`);
  const { withoutResult, otherExperiences, trainedTwice, unused } = counts;
  return Object.entries({ withoutResult, otherExperiences, trainedTwice, unused }).flatMap(
    ([what, count]) => (count === 0 ? [] : [`${what} ${count}`]),
  );
}

function newestWeights(place: RunPlace): string {
  const folder = path.join(jobOf(place, 1), 'explorers', 'e2', 'weights');
  const files = globSync('**/*.*', { cwd: folder }).toSorted();
  return files.map((file) => `${file} ${statSync(path.join(folder, file)).size} B`).join(', ');
}

/** Heads of width 32 and an untied output, because vLLM needs both on a CPU. */
const config = {
  ...{ hiddenSize: 64, layers: 2, heads: 2, kvHeads: 1, headDim: 32 },
  ...{ maxPositions: 64, tieEmbeddings: false },
} as const;

async function measure(): Promise<readonly string[]> {
  const found = [await findTuft(), await findVllm()] as const;
  const [tuftProgram, vllmProgram] = found;
  if ('missing' in tuftProgram) return [tuftProgram.missing];
  if ('missing' in vllmProgram) return [vllmProgram.missing];
  await writeDigitsData(root, { initializerRange: 0.2, config });
  const modelPath = halfPrecision(path.join(root, 'model'), path.join(root, 'half'));
  await using stack = new AsyncDisposableStack();
  const own = { models: { half: modelPath }, directory: path.join(root, 'tuft') };
  const tuft = stack.adopt(await startTuft({ ...tuftProgram, ...own }), (one) => one.stop());
  process.env['TINKER_API_KEY'] = tuftKey;
  const start = { ...vllmProgram, modelPath, folder: root, maxModelLen: 64, lora: { rank } };
  const half = { tokenizer: false, dtype: 'bfloat16' } as const;
  const vllm = stack.adopt(await startVllm({ ...start, ...half }), (one) => one.stop());
  const postgres = stack.adopt(await startPostgres(), (one) => one.stop());
  say('TuFT, vLLM and PostgreSQL have started');
  const change = onServers({ tuft: tuft.url, vllm: vllm.url });
  const place = { root, name: 'engines', postgresUrl: postgres.url(), change };
  return [...(await disturb(place)), ...(await judge(place))];
}

const problems = await measure();
for (const problem of problems) say(`VIOLATION: ${problem}`);
if (problems.length === 0) rmSync(root, { recursive: true, force: true });
else say(`The folders and logs of the run are in ${root}.`);
process.exitCode = problems.length === 0 ? 0 : 1;
