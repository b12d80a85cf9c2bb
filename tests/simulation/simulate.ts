/** Simulates the run of a seed and reports violations. */
import type { RunStore, RunView } from '../../packages/core/src/run-store.ts';
import { createRuntime, describeError, type Clock } from '../../packages/core/src/index.ts';
import type { RunDatabase } from '../../packages/buffer/src/run-store/database/run-database.ts';
import { runStore, runView } from '../../packages/buffer/src/run-store/run/run-store.ts';
import { watchCauses } from './causes.ts';
import { formatDisk } from './disk.ts';
import { emptyDatabase } from './empty-database.ts';
import { createTruth, type Truth } from './engine.ts';
import { experienceFile, type ExperienceFile } from './experience-file.ts';
import { exploreAsProcess } from './explorer-process.ts';
import { createKernel, newProcess, type Kernel, type Process } from './kernel.ts';
import { createNetwork, noNetworkFaults, observed, type Network } from './network.ts';
import { createOracle, type Oracle } from './oracle.ts';
import { inOneProcess } from './one-process.ts';
import type { ProcessParts } from './parts.ts';
import { leaseMs, scenarioOf, type Fault, type Scenario } from './scenario.ts';
import { trainAsProcess } from './trainer-process.ts';

/** A deliberate error. */
export interface Bug {
  readonly name: string;
  /** System in which the error occurred. */
  readonly knownFrom: string;
  /**
   * Lease time of the store in ms.
   * @default `leaseMs` of the scenario
   */
  readonly leaseMs?: number;
  /** Replaces parts of a process; `database` is the shared one. */
  readonly parts?: (parts: ProcessParts, database: RunDatabase) => ProcessParts;
}

export interface Outcome {
  readonly scenario: Scenario;
  /** Violations of the invariants; empty if the run was correct. */
  readonly violations: readonly string[];
  /** Digest of all events: equal for equal seeds. */
  readonly digest: string;
  readonly events: number;
  readonly endedAtMs: number;
  /** Digest of the last weights. */
  readonly weights: string | undefined;
  readonly trainSteps: number;
}

/** Maximum time in ms until a run ends after its last fault. */
const patienceMs = 300_000;
/** Maximum number of events of a run; a run with more events is stuck in a loop. */
const mostEvents = 30_000;

export interface SimulateOptions {
  readonly bug?: Bug;
  /** Called after each event, with the time in milliseconds. */
  readonly onEvent?: (what: string, at: number) => void;
}

/** Simulates the run of a seed. In the style `fixed`, compares the result with that of a single process. */
export async function simulate(seed: number, options: SimulateOptions = {}): Promise<Outcome> {
  const { stackTraceLimit } = Error;
  // Capturing a stack trace for each abort would be slow.
  Error.stackTraceLimit = 0;
  try {
    return await compare(seed, options);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

async function compare(seed: number, { bug, onEvent }: SimulateOptions): Promise<Outcome> {
  const scenario = scenarioOf(seed);
  const outcome = await play(scenario, { bug, onEvent });
  if (scenario.style !== 'fixed' || outcome.violations.length > 0) return outcome;
  const expected = await inOneProcess(scenario);
  if (expected.weights === outcome.weights && expected.trainSteps === outcome.trainSteps)
    return outcome;
  const violation = `ended with weights ${outcome.weights} after ${outcome.trainSteps} steps, in one process with ${expected.weights} after ${expected.trainSteps}`;
  return { ...outcome, violations: [violation] };
}

const noBug: Bug = { name: 'none', knownFrom: '' };

async function play(scenario: Scenario, { bug = noBug, onEvent }: SimulateOptions = {}) {
  const world = await createWorld(scenario, bug);
  const { kernel, oracle, truth } = world;
  startProcesses(world);
  for (const fault of scenario.faults) schedule(world, fault);
  await kernel.run({
    deadline: scenario.faultsEndAt + patienceMs,
    isOver: () => world.isOver() || oracle.violations.length > 0 || kernel.eventCount > mostEvents,
    afterEvent: (what) => onEvent?.(what, kernel.now()),
  });
  if (oracle.violations.length === 0) {
    if (world.isOver()) oracle.checkEnd();
    else oracle.report(await stuck(world));
  }
  for (const { process } of world.roles) if (process) end(process);
  return {
    scenario,
    violations: oracle.violations,
    digest: kernel.digest(),
    events: kernel.eventCount,
    endedAtMs: kernel.now(),
    weights: truth.digest(oracle.records.size),
    trainSteps: oracle.records.size,
  };
}

interface World {
  readonly scenario: Scenario;
  readonly bug: Bug;
  readonly kernel: Kernel;
  readonly database: RunDatabase;
  readonly network: Network;
  readonly experiences: ExperienceFile;
  readonly oracle: Oracle;
  readonly truth: Truth;
  /** Roles of the run: the trainer, then the explorers. */
  readonly roles: readonly Role[];
  isOver(): boolean;
}

/** Role in the run. When its process dies, another process takes over the role. */
interface Role {
  readonly name: string;
  readonly role: 'trainer' | 'explorer';
  lives: number;
  process: Process | undefined;
  done: boolean;
  /** Error with which the role's last process ended. */
  lastError: unknown;
}

async function createWorld(scenario: Scenario, bug: Bug): Promise<World> {
  const kernel = createKernel(scenario.seed);
  formatDisk(kernel);
  const truth = createTruth();
  const database = await emptyDatabase(() => kernel.now());
  const oracle = createOracle({
    now: () => kernel.now(),
    leaseMs,
    uses: 1,
    mayBeNewer: scenario.style !== 'fixed',
    lastStep: scenario.exploreSteps,
    rowOf: (step, task) => (step - 1) * scenario.tasksPerStep + task,
    mayExplore: (use) => mayExplore(scenario, use),
    sampledBy: (experience, version) => truth.sampledBy(experience, version),
  });
  const causes = watchCauses({
    kernel,
    view: () => viewOf(database),
    report: (violation) => oracle.report(violation),
  });
  const network = createNetwork({
    kernel,
    database,
    faults: () => (kernel.now() < scenario.faultsEndAt ? scenario.network : noNetworkFaults),
    onCommit: (committed) => {
      const { verb, args, caller } = committed;
      if (verb === 'recordTrainStep') {
        const wrong = truth.settle(caller, (args[1] as { readonly trainStep: number }).trainStep);
        if (wrong) oracle.report(wrong);
      }
      oracle.observe(committed);
      causes.observe(committed);
    },
  });
  const names = Array.from({ length: scenario.explorers }, (_, i) => `explorer-${i + 1}`);
  const role = (name: string, kind: Role['role']): Role => ({
    name,
    role: kind,
    lives: 0,
    process: undefined,
    done: false,
    lastError: undefined,
  });
  const roles = [role('trainer', 'trainer'), ...names.map((name) => role(name, 'explorer'))];
  const isOver = (): boolean => roles.every(({ done }) => done);
  const experiences = experienceFile();
  const shared = { scenario, bug, kernel, database, network, experiences };
  return { ...shared, oracle, truth, roles, isOver };
}

/**
 * Undefined if the step may be explored with these weights, else the reason. Does not use the code of the processes.
 */
function mayExplore(
  { style, syncInterval, syncOffset, maxStaleness }: Scenario,
  use: { step: number; version: number; usedUpTo: number },
): string | undefined {
  const { step, version, usedUpTo } = use;
  const bound = style === 'fixed' ? syncInterval + syncOffset - 1 : maxStaleness;
  if (usedUpTo >= step - 1 - bound) return undefined;
  return `explore step ${step} was begun with version ${version}, which has used up ${usedUpTo}; the bound is ${bound}`;
}

function startProcesses(world: World): void {
  for (const role of world.roles) start(world, role, { afterMs: 0 });
}

interface Start {
  readonly afterMs: number;
  /** Process that is alive but seems dead; the new process is started beside it. */
  readonly beside?: Process;
}

function start(world: World, role: Role, { afterMs, beside }: Start): void {
  const { kernel } = world;
  kernel.schedule({ what: `${role.name} is started`, ms: afterMs, owner: undefined }, () => {
    if ((role.process?.alive && role.process !== beside) || role.done) return;
    role.lives += 1;
    const process = newProcess(`${role.name}#${role.lives}`);
    role.process = process;
    live(world, role, process);
  });
}

/** Pauses a process; of several pauses, the longest counts. */
function pause(process: Process, until: number): void {
  process.pausedUntil = Math.max(process.pausedUntil, until);
}

function end(process: Process): void {
  process.alive = false;
}

/** Runs a process as a supervisor does: restarts it a second after an error. */
function live(world: World, role: Role, process: Process): void {
  const { kernel } = world;
  const main = async (): Promise<void> => {
    const parts = await partsOf(world, process);
    if (role.role === 'trainer') await trainAsProcess(parts, role.name);
    else await exploreAsProcess(parts, role.name);
  };
  kernel.spawn(process, main).then(
    () => {
      end(process);
      role.done = true;
    },
    (error: unknown) => {
      end(process);
      role.lastError = error;
      if (!isExplained(error))
        world.oracle.report(`${process.name} failed: ${describeError(error)}`);
      if (role.process === process) start(world, role, { afterMs: 1000 });
    },
  );
}

/** Error codes with which a process may end because of a fault or of a process that replaces it. */
const explained: ReadonlySet<unknown> = new Set([
  'BUFFER_LOCKED',
  'BUFFER_STORAGE',
  'ENOSPC',
  'MEMBER_ALIVE',
  'MEMBER_FENCED',
  'STORE_UNREACHABLE',
]);

const isExplained = (error: unknown): boolean =>
  error instanceof Error &&
  (explained.has((error as NodeJS.ErrnoException).code) || isExplained(error.cause));

async function partsOf(world: World, process: Process): Promise<ProcessParts> {
  const { scenario, bug, kernel, database, network, truth } = world;
  const clock = kernel.clock(process);
  const store = await openStore(bug, network.connect(process), clock);
  const parts: ProcessParts = {
    process,
    scenario,
    store: observed(store),
    engine: truth.watch(process),
    openExperiences: () => world.experiences.open(process),
    runtime: createRuntime({ seed: scenario.seed, clock }),
  };
  return bug.parts?.(parts, database) ?? parts;
}

const openStore = (bug: Bug, database: RunDatabase, clock?: Clock): Promise<RunStore> =>
  runStore(database, { run: 'simulated', leaseMs: bug.leaseMs ?? leaseMs, clock });

function schedule(world: World, fault: Fault): void {
  const { kernel } = world;
  const what = `fault: ${fault.kind} ${fault.target}`;
  kernel.schedule({ what, ms: fault.at, owner: undefined }, () => strike(world, fault));
}

function strike(world: World, fault: Fault): void {
  const { kernel, network, roles } = world;
  const role = roles[fault.target];
  const process = role?.process;
  if (!role || !process?.alive) return;
  const now = kernel.now();
  switch (fault.kind) {
    case 'kill':
      end(process);
      start(world, role, { afterMs: fault.restartAfterMs });
      break;
    case 'pause':
      pause(process, now + fault.forMs);
      break;
    case 'replace':
      pause(process, now + fault.forMs);
      start(world, role, { afterMs: leaseMs + 1000, beside: process });
      break;
    case 'cut':
      network.cut(process.name, now + fault.forMs);
      break;
    case 'store stops':
      network.stopServer(now + fault.forMs);
      break;
    case 'clock jumps':
      process.clockOffset += fault.byMs;
      break;
    case 'disk full':
      process.diskIsFull = true;
      kernel.schedule({ what: 'the disk has room', ms: fault.forMs, owner: undefined }, () => {
        process.diskIsFull = false;
      });
      break;
    case 'second trainer':
      startRival(world);
  }
}

/** Starts a second trainer, as a user might when the first one is running or seems to hang. */
function startRival(world: World): void {
  const [trainer] = world.roles;
  if (!trainer || trainer.done) return;
  trainer.lives += 1;
  const process = newProcess(`trainer#${trainer.lives}`);
  const earlier = trainer.process;
  const main = async (): Promise<void> => {
    await trainAsProcess(await partsOf(world, process), 'trainer');
  };
  world.kernel.spawn(process, main).then(
    () => (trainer.done = true),
    () => {
      end(process);
      if (!earlier?.alive) start(world, trainer, { afterMs: 1000 });
    },
  );
}

/** View of the run for a reader; undefined before the run has begun. */
async function viewOf(database: RunDatabase): Promise<RunView | undefined> {
  const reader = await runView(database, { run: 'simulated', leaseMs });
  return reader?.view();
}

async function stuck({ database, kernel, roles }: World): Promise<string> {
  const view = await viewOf(database);
  if (!view) return 'nobody has begun the run';
  const waits = view.members.flatMap(({ name, waits: each }) =>
    each.map(({ what }) => `${name} waits for ${what}`),
  );
  const errors = roles.flatMap(({ name, lastError }) =>
    lastError === undefined ? [] : `${name} last failed with ${describeError(lastError)}`,
  );
  const leases = view.leases.map(
    ({ batch, task, version, explorer }) => `${explorer} has ${batch}/${task} for ${version}`,
  );
  const { tasks, plannedUpTo, trainStep, published } = view;
  const counts = `planned up to ${plannedUpTo}, trained up to ${trainStep}, published ${published?.version}, tasks ${JSON.stringify(tasks)}`;
  const all = [counts, ...waits, ...leases, ...errors].join('; ');
  return `no end after ${Math.round(kernel.now() / 1000)} s: ${all}`;
}
