/**
 * Invariants of a run, checked at every transaction of its store. The oracle builds its own small model of the run from
 * the calls alone, so that errors of the store are not hidden.
 */
import { isDeepStrictEqual } from 'node:util';
import type {
  Delivery,
  ExplorePlan,
  LeasedTask,
  MemberInfo,
  Membership,
  PublishedWeights,
  RunEnd,
  TaskResult,
  TrainRecord,
} from '../../packages/core/src/run-store.ts';
import { type Experience, uid as uidOf } from '../../packages/core/src/index.ts';
import type { Committed, StoreVerb } from './network.ts';

export interface OracleOptions {
  /** True time in milliseconds. */
  readonly now: () => number;
  readonly leaseMs: number;
  /** True if tasks may be explored with newer weights than planned. */
  readonly mayBeNewer: boolean;
  /** Last explore step of the run. */
  readonly lastStep: number;
  /** Maximum number of times an experience may be trained on. */
  readonly uses: number;
  /** Expected row of the task set for a task. */
  readonly rowOf: (step: number, task: number) => number;
  /** Undefined if weights of the version may sample the explore step, else the reason. */
  readonly mayExplore: (use: {
    readonly step: number;
    readonly version: number;
    /**
     * Last explore step such that these weights were trained after all experiences up to it were
     * used up.
     */
    readonly usedUpTo: number;
  }) => string | undefined;
  /** Undefined if weights of the version give the recorded log-probabilities, else the reason. */
  readonly sampledBy: (experience: Experience, version: number) => string | undefined;
}

interface TaskState {
  readonly step: number;
  readonly version: number | undefined;
  holder: { readonly name: string; readonly epoch: number } | undefined;
  result: TaskResult | undefined;
  /** True if the task was cut off without a result, so that its batch does not wait for it. */
  isCut: boolean;
}

interface MemberState extends Membership {
  readonly process: string | undefined;
  lastBeat: number;
  gone: boolean;
}

export interface Oracle {
  observe(committed: Committed): void;
  readonly violations: readonly string[];
  /** Checks the final state when the run reports its end. */
  checkEnd(): void;
  readonly records: ReadonlyMap<number, TrainRecord>;
  /** Reports a violation that another part has found. */
  report(violation: string): void;
  readonly facts: RunFacts;
}

interface ExperienceState {
  trained: number;
  discarded: string | undefined;
  /** Train step that trained on the experience or discarded it. */
  usedAt: number | undefined;
}

interface RunFacts {
  readonly members: Map<string, MemberState>;
  readonly tasks: Map<string, TaskState>;
  /** Experiences of stored results by uid: how often each was trained on, or why it was discarded. */
  readonly experiences: Map<string, ExperienceState>;
  readonly records: Map<number, TrainRecord>;
  readonly published: PublishedWeights[];
  /** Weight versions whose delivery an explorer has verified, by `<explorer> <epoch>`. */
  readonly proven: Map<string, Set<number>>;
  plannedUpTo: number;
  end: RunEnd | undefined;
}

const taskKey = ({ batch, task }: { readonly batch: string; readonly task: number }): string =>
  `${batch}/${task}`;
const memberKey = ({ name, epoch }: { readonly name: string; readonly epoch: number }): string =>
  `${name} ${epoch}`;

export function createOracle(options: OracleOptions): Oracle {
  const violations: string[] = [];
  const facts: RunFacts = {
    members: new Map(),
    tasks: new Map(),
    experiences: new Map(),
    records: new Map(),
    published: [],
    proven: new Map(),
    plannedUpTo: 0,
    end: undefined,
  };
  const report = (violation: string): void => void violations.push(violation);
  const parts: Parts = { ...options, facts, report };
  return {
    violations,
    facts,
    records: facts.records,
    report,
    observe: ({ verb, args, result, caller }) => checks[verb]?.({ ...parts, caller }, args, result),
    checkEnd: () => checkEnd(parts),
  };
}

interface Parts extends OracleOptions {
  /** Process that made the call. */
  readonly caller?: string;
  readonly facts: RunFacts;
  readonly report: (violation: string) => void;
}

type Check = (parts: Parts, args: readonly unknown[], result: unknown) => void;

/** Checks of successful calls, by verb. */
const checks: Readonly<Partial<Record<StoreVerb, Check>>> = {
  join: (parts, [info], result) => joined(parts, info as MemberInfo, result as Membership),
  heartbeat: (parts, [member]) => wrote(parts, 'heartbeat', member as Membership),
  leave: (parts, [member]) => left(parts, member as Membership),
  plan: (parts, [member, plan], result) => {
    if (result) planned(parts, member as Membership, plan as ExplorePlan);
  },
  leaseTasks: (parts, [member, request], result) => {
    wrote(parts, 'leaseTasks', member as Membership);
    for (const task of result as readonly LeasedTask[])
      leased(parts, member as Membership, task, (request as { maxStep: number }).maxStep);
  },
  storeResult: (parts, [member, task, result], answer) =>
    completed(parts, member as Membership, {
      task: task as LeasedTask,
      result: result as TaskResult,
      answer: answer as string,
    }),
  cutOffBatch: (parts, [member, batch]) => cutOff(parts, member as Membership, batch as string),
  releaseTask: (parts, [member, task]) => {
    const state = parts.facts.tasks.get(taskKey(task as LeasedTask));
    if (state && isHolder(state, member as Membership)) state.holder = undefined;
  },
  recordTrainStep: (parts, [member, record]) =>
    acknowledged(parts, member as Membership, record as TrainRecord),
  publishWeights: (parts, [member, weights]) =>
    published(parts, member as Membership, weights as PublishedWeights),
  reportDelivery: (parts, [member, delivery]) =>
    delivered(parts, member as Membership, delivery as Delivery),
  finishRun: (parts, [member, end]) => finished(parts, member as Membership, end as RunEnd),
};

/** True if a worker's last sign of life is less than the lease time ago. */
const isAlive = ({ now, leaseMs }: Parts, member: MemberState): boolean =>
  !member.gone && now() - member.lastBeat < leaseMs;

function joined(parts: Parts, info: MemberInfo, membership: Membership): void {
  const { facts, report, now } = parts;
  const earlier = facts.members.get(info.name);
  if (earlier?.epoch === membership.epoch && earlier.process === parts.caller) return;
  if (earlier && membership.epoch <= earlier.epoch)
    report(`${info.name} joined with epoch ${membership.epoch}, not above ${earlier.epoch}`);
  for (const other of facts.members.values()) {
    const isSame =
      other.name === info.name || (info.role === 'trainer' && other.role === 'trainer');
    const isSameLife = other.process === parts.caller;
    if (isSame && !isSameLife && isAlive(parts, other))
      report(`${info.role} ${info.name} joined while ${other.name} was alive`);
  }
  const process = parts.caller;
  facts.members.set(info.name, { ...membership, process, lastBeat: now(), gone: false });
}

/** Checks that a write has the newest epoch of its worker's name, and that there is only one trainer. */
function wrote({ facts, report, now, caller }: Parts, what: StoreVerb, member: Membership): void {
  const known = facts.members.get(member.name);
  if (known && known.process !== caller)
    report(`${what} of ${caller} was accepted; ${known.process} is the ${member.name}`);
  if (known?.epoch !== member.epoch) {
    report(`${what} of ${memberKey(member)} was accepted; the epoch is ${known?.epoch}`);
    return;
  }
  const successor = [...facts.members.values()].find(
    ({ role, name, epoch }) => role === 'trainer' && name !== member.name && epoch > member.epoch,
  );
  if (member.role === 'trainer' && successor)
    report(`${what} of trainer ${member.name} was accepted after ${successor.name} replaced it`);
  if (what === 'heartbeat') known.lastBeat = now();
}

function left({ facts }: Parts, member: Membership): void {
  const known = facts.members.get(member.name);
  if (known?.epoch === member.epoch) known.gone = true;
  for (const state of facts.tasks.values())
    if (isHolder(state, member) && !state.result) state.holder = undefined;
}

const isHolder = ({ holder }: TaskState, member: Membership): boolean =>
  holder?.name === member.name && holder.epoch === member.epoch;

function planned(
  { facts, report, rowOf, lastStep }: Parts,
  member: Membership,
  plan: ExplorePlan,
): void {
  const first = plan.batches[0]?.tasks[0];
  const isRepeated =
    first && facts.tasks.has(taskKey({ batch: plan.batches[0]?.batch ?? '', ...first }));
  if (isRepeated && plan.step === facts.plannedUpTo) return;
  // A restarted trainer plans a step again if all runs of the step have failed.
  const isAgain = plan.batches.every(({ batch }) => batch.startsWith(`${plan.step}#`));
  if (plan.step !== facts.plannedUpTo + 1 && !isAgain)
    report(`${member.name} planned explore step ${plan.step} after ${facts.plannedUpTo}`);
  if (plan.step > lastStep) report(`explore step ${plan.step} was planned after the last`);
  facts.plannedUpTo = Math.max(facts.plannedUpTo, plan.step);
  for (const { batch, step, version, tasks } of plan.batches)
    for (const { task, row } of tasks) {
      if (row !== rowOf(step, task)) report(`task ${batch}/${task} was planned of row ${row}`);
      const state = { step, version, holder: undefined, result: undefined, isCut: false };
      facts.tasks.set(taskKey({ batch, task }), state);
    }
}

function leased(parts: Parts, member: Membership, task: LeasedTask, maxStep: number): void {
  const { facts, report } = parts;
  const key = taskKey(task);
  const state = facts.tasks.get(key);
  if (!state) return report(`task ${key} was leased but never planned`);
  if (state.result) report(`task ${key} was leased to ${member.name} though it has a result`);
  if (state.isCut) report(`task ${key} was leased to ${member.name} though it is cut off`);
  if (task.step > maxStep) report(`task ${key} is beyond explore step ${maxStep} and was leased`);
  const worker = workerOf(parts, state);
  if (worker && !isHolder(state, member))
    report(`task ${key} was leased to ${member.name} while ${worker.name} was at work on it`);
  state.holder = member;
}

/** Worker that holds the task; undefined if there is none, or if it is not alive. */
function workerOf(parts: Parts, { holder }: TaskState): MemberState | undefined {
  const member = holder && parts.facts.members.get(holder.name);
  return member && member.epoch === holder.epoch && isAlive(parts, member) ? member : undefined;
}

/** Cuts off the tasks of a batch that no living worker holds. */
function cutOff(parts: Parts, member: Membership, batch: string): void {
  wrote(parts, 'cutOffBatch', member);
  for (const [key, state] of parts.facts.tasks)
    if (key.startsWith(`${batch}/`) && !state.result && !workerOf(parts, state))
      Object.assign(state, { isCut: true, holder: undefined });
}

interface Completion {
  readonly task: LeasedTask;
  readonly result: TaskResult;
  readonly answer: string;
}

function completed(parts: Parts, member: Membership, { task, result, answer }: Completion): void {
  const { facts, report } = parts;
  const key = taskKey(task);
  const state = facts.tasks.get(key);
  if (!state) return report(`task ${key} was completed but never planned`);
  const isOwn = isHolder(state, member);
  if (answer === 'late') {
    if (isOwn && !state.result)
      report(`the result of ${member.name} for ${key} was refused though it was due`);
    return;
  }
  if (state.result) {
    const isRepeated = isOwn && isDeepStrictEqual(uids(state.result), uids(result));
    if (!isRepeated) report(`task ${key} has two results; the second is that of ${member.name}`);
    return;
  }
  // A task that its worker has returned, and that no other worker holds, may still be completed.
  if (state.isCut || (state.holder && !isOwn))
    report(`the late result of ${memberKey(member)} for ${key} was stored`);
  state.holder = member;
  state.result = result;
  for (const experience of result.experiences) explored(parts, member, { state, experience, key });
}

const uids = ({ experiences }: TaskResult): readonly string[] => experiences.map(uidOfExperience);
const uidOfExperience = (experience: Experience): string => uidOf(experience.eid);

function explored(
  { facts, report, mayBeNewer, mayExplore, sampledBy }: Parts,
  member: Membership,
  {
    state,
    experience,
    key,
  }: { readonly state: TaskState; readonly experience: Experience; readonly key: string },
): void {
  const uid = uidOfExperience(experience);
  const version = experience.policyVersion;
  if (facts.experiences.has(uid)) report(`experience ${uid} was stored twice`);
  facts.experiences.set(uid, { trained: 0, discarded: undefined, usedAt: undefined });
  const fits = mayBeNewer ? version >= (state.version ?? 0) : version === state.version;
  if (state.version !== undefined && !fits)
    report(`${key} was to be explored by version ${state.version}, and was by ${version}`);
  if (!facts.proven.get(memberKey(member))?.has(version))
    report(`${member.name} explored with version ${version}, whose delivery it has not proven`);
  const wrong =
    mayExplore({ step: state.step, version, usedUpTo: usedUpTo(facts, version) }) ??
    sampledBy(experience, version);
  if (wrong) report(`experience ${uid} of ${member.name}: ${wrong}`);
}

/**
 * Last explore step such that train steps up to `version` have used up all experiences up to it.
 */
function usedUpTo({ tasks, experiences, plannedUpTo }: RunFacts, version: number): number {
  for (let step = 1; step <= plannedUpTo; step++) {
    const ofStep = [...tasks.values()].filter((task) => task.step === step);
    const isUsed = ofStep.every(({ result, isCut }) =>
      result
        ? uids(result).every((uid) => (experiences.get(uid)?.usedAt ?? Infinity) <= version)
        : isCut,
    );
    if (!isUsed) return step - 1;
  }
  return plannedUpTo;
}

function acknowledged(parts: Parts, member: Membership, record: TrainRecord): void {
  const { facts, report } = parts;
  wrote(parts, 'recordTrainStep', member);
  const earlier = facts.records.get(record.trainStep);
  if (earlier) {
    if (!isDeepStrictEqual(earlier, record))
      report(`train step ${record.trainStep} was made again with another batch`);
    return;
  }
  if (record.trainStep !== facts.records.size + 1)
    report(`train step ${record.trainStep} was recorded after ${facts.records.size}`);
  facts.records.set(record.trainStep, record);
  for (const uid of record.trained) used(parts, record, uid);
  for (const { uid, reason } of record.discarded) {
    const state = facts.experiences.get(uid);
    if (state) Object.assign(state, { discarded: reason, usedAt: record.trainStep });
    else report(`train step ${record.trainStep} discarded ${uid}, which is not stored`);
  }
}

function used({ facts, report, uses }: Parts, { trainStep }: TrainRecord, uid: string): void {
  const state = facts.experiences.get(uid);
  if (!state) return report(`train step ${trainStep} used ${uid}, which is not stored`);
  state.trained += 1;
  state.usedAt = trainStep;
  if (state.trained > uses) report(`train step ${trainStep} used ${uid} once too often`);
  if (state.discarded)
    report(`train step ${trainStep} used ${uid}, discarded as ${state.discarded}`);
}

function published(parts: Parts, member: Membership, weights: PublishedWeights): void {
  const { facts, report } = parts;
  wrote(parts, 'publishWeights', member);
  const { version, digest, final } = weights;
  if (version > facts.records.size)
    report(`version ${version} was published after train step ${facts.records.size}`);
  const earlier = facts.published.find((each) => each.version === version && each.final === final);
  if (earlier && earlier.digest !== digest)
    report(`version ${version} was published twice, unlike`);
  if (earlier) return;
  facts.published.push(weights);
}

function delivered({ facts, report }: Parts, member: Membership, delivery: Delivery): void {
  const key = memberKey(member);
  const { version, difference, problem } = delivery;
  if (problem !== undefined) return;
  if (!facts.published.some((each) => each.version === version))
    report(`${member.name} uses version ${version}, which was not published`);
  if (!(difference !== undefined && difference <= 1e-5))
    report(`${member.name} uses version ${version} with a difference of ${difference}`);
  const proven = facts.proven.get(key) ?? new Set();
  facts.proven.set(key, proven.add(version));
}

function finished(parts: Parts, member: Membership, end: RunEnd): void {
  wrote(parts, 'finishRun', member);
  const { facts, report } = parts;
  if (end.trainStep !== facts.records.size)
    report(`the run ended at train step ${end.trainStep}, recorded are ${facts.records.size}`);
  facts.end = end;
}

/** Checks that no task and no experience was forgotten. */
function checkEnd({ facts, report, lastStep }: Parts): void {
  if (!facts.end) report('the trainer ended without saying so');
  if (facts.plannedUpTo !== lastStep)
    report(`the run ended after explore step ${facts.plannedUpTo}, not ${lastStep}`);
  for (const [key, { result, isCut }] of facts.tasks)
    if (!result && !isCut) report(`task ${key} has no result`);
  for (const [uid, { trained, discarded }] of facts.experiences)
    if (trained === 0 && discarded === undefined) report(`experience ${uid} was forgotten`);
}
