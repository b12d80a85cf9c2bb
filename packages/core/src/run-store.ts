/**
 * Interface of the run store: the state that the processes of one run share. Any number of
 * explorers and one trainer read and write it. Each call is one transaction; no call holds a lock
 * when it returns.
 */
import type { JsonState } from './buffer.js';
import type { Experience } from './experience.js';
import type { RewardReceipt } from './late-rewards.js';

export type MemberRole = 'explorer' | 'trainer';

/** A process that takes part in a run. */
export interface MemberInfo {
  readonly role: MemberRole;
  /** Unique among the live members of a run. */
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  /** Settings that must be equal for all members. @default no settings */
  readonly agreement?: Agreement;
}

/** Texts, keyed by the name of a setting. */
export type Agreement = Readonly<Record<string, string>>;

/** Reason and duration of a wait of a member. */
export interface Wait {
  /** Noun phrase shown after "waiting for": `the weights for explore step 5`. */
  readonly what: string;
  /** Role or member that can end the wait. Undefined if only something outside the run can. */
  readonly on: string | undefined;
  /** Duration of the wait up to now in milliseconds, on the member's clock. */
  readonly forMs: number;
}

/** State that a member reports with each heartbeat. */
export interface MemberState {
  /** Empty while the member works. */
  readonly waits: readonly Wait[];
  /** Version of the weights that the member uses (explorer) or made last (trainer). */
  readonly version: number;
  /**
   * Explorer only: the explorer would at once switch to weights that are newer than this version.
   * @default the explorer asks for no weights
   */
  readonly asksForNewerThan?: number;
  /** Further facts, for people: rates, progress. */
  readonly facts: JsonState;
}

/**
 * A member's place in the run, held as long as the member sends heartbeats. If the member sends no
 * heartbeat for the store's lease time, its tasks may be leased to other members, and a trainer may
 * be replaced.
 */
export interface Membership extends MemberInfo {
  /** Increases with every join under this name; writes with an older epoch are refused. */
  readonly epoch: number;
}

/** A task of an explore step or evaluation, as planned. */
export interface PlannedTask {
  /** Place in its batch, from 0. */
  readonly task: number;
  readonly taskset: string;
  /** Row number in the task set. */
  readonly row: number;
}

/** The tasks of one batch: an explore step, or one set of an evaluation. */
export interface PlannedBatch {
  /** First part of the experience ids: the explore step, or `<step>/<evaluation set>`. */
  readonly batch: string;
  readonly step: number;
  readonly isEval: boolean;
  /**
   * Policy version that must sample the batch; in the asynchronous styles the oldest one that may.
   * Undefined if the explorer may use any version.
   */
  readonly version: number | undefined;
  readonly tasks: readonly PlannedTask[];
}

export interface ExplorePlan {
  readonly step: number;
  readonly batches: readonly PlannedBatch[];
  /** State of the task feed after this step, from which the next step is planned. */
  readonly feed: JsonState;
  /** True if no explore step follows. */
  readonly isLast: boolean;
}

/** A task that one explorer works on. */
export interface LeasedTask extends PlannedTask {
  readonly batch: string;
  readonly step: number;
  readonly isEval: boolean;
  readonly version: number | undefined;
}

/** Outcome of a task. */
export interface TaskResult {
  /** Experiences in run order; empty if every run failed, and for evaluations. */
  readonly experiences: readonly Experience[];
  /** Input of the metrics of the explore step, as plain JSON. */
  readonly outcome: JsonState;
  /** Run keys of runs whose rewards arrive later; the batch does not wait for them. @default empty */
  readonly awaits?: readonly string[];
}

/** A batch without unfinished tasks: each has a result or was cut off. */
export interface CompleteBatch {
  /** Place in the order in which batches became complete, from 1. */
  readonly order: number;
  readonly batch: string;
  readonly step: number;
  readonly isEval: boolean;
  /** True if the batch's experiences were used up and deleted. */
  readonly isPruned: boolean;
}

export interface BatchContents {
  /** Results in task order; a task that was cut off without a result has an empty outcome. */
  readonly results: readonly (TaskResult & { readonly explorer: string })[];
  /** Experiences that a train step has used up or discarded already, by uid. */
  readonly used: ReadonlySet<string>;
  /**
   * Number of train steps that have trained on an experience, by uid; experiences without uses are
   * absent.
   */
  readonly useCounts: ReadonlyMap<string, number>;
}

/** Experiences that one optimizer step has used up. */
export interface TrainRecord {
  readonly trainStep: number;
  /** Uids, in the order of the batch. */
  readonly trained: readonly string[];
  /** Uids of `trained` that may be trained on again. @default empty */
  readonly kept?: readonly string[];
  /**
   * Uids that will not be trained on, with the reason: `stale`, `filtered`, or `merged` into
   * another one.
   */
  readonly discarded: readonly { readonly uid: string; readonly reason: string }[];
}

/** Weights that the trainer has made available to explorers. */
export interface PublishedWeights {
  /** Train step that made the weights; 0 = the initial model of the run. */
  readonly version: number;
  /** Last explore step whose experiences had all been trained on or dropped when these weights were made. */
  readonly exploredUpTo: number;
  /** Synchronization point of the weights, in explore steps; see the synchronizer. */
  readonly boundary: number | undefined;
  /** A folder that trainer and explorers can reach, or the store itself. */
  readonly location:
    | { readonly kind: 'folder'; readonly path: string }
    | { readonly kind: 'store' };
  /** SHA-256 over the files, their names and the version, in hexadecimal. */
  readonly digest: string;
  /** Reference log-probabilities used to verify delivered weights. */
  readonly probe: DeliveryProbe;
}

export interface DeliveryProbe {
  readonly tokens: readonly number[];
  readonly promptLength: number;
  /** Natural-log probabilities of tokens[promptLength..]. */
  readonly logprobs: readonly number[];
}

/** Result of an explorer's attempt to use published weights. */
export interface Delivery {
  readonly version: number;
  /** Mean difference from the probe, in nats. Undefined if the probe was not scored. */
  readonly difference: number | undefined;
  /** Reason why the weights were refused. Undefined if the explorer uses them. */
  readonly problem: string | undefined;
}

/** A member as other members see it. */
export interface MemberView extends Membership, MemberState {
  readonly isAlive: boolean;
  /** True if the member ended by itself or was replaced. */
  readonly hasLeft: boolean;
  /** Milliseconds since the member's last heartbeat. */
  readonly silentForMs: number;
  readonly delivery: Delivery | undefined;
}

/** Progress of a run at one moment. */
export interface RunView {
  readonly members: readonly MemberView[];
  readonly tasks: { readonly open: number; readonly leased: number; readonly done: number };
  /** Numbers of tasks and train steps that were done within the last minute. */
  readonly lastMinute: { readonly tasks: number; readonly trainSteps: number };
  /** Tasks in progress, with the explorer that holds each. */
  readonly leases: readonly (LeasedTask & { readonly explorer: string })[];
  /** Number of results that came after the task was leased to another explorer or cut off. */
  readonly lateResults: number;
  readonly experiences: {
    readonly total: number;
    readonly waiting: number;
    /** Policy version that sampled the oldest waiting experience. Undefined if none waits. */
    readonly oldestVersion: number | undefined;
    readonly trained: number;
    /** Numbers of discarded experiences, keyed by reason. */
    readonly discarded: Readonly<Record<string, number>>;
  };
  /** Number of runs whose reward has not arrived yet. */
  readonly awaitedRuns: number;
  /** Size of the store on disk. */
  readonly sizeBytes: number;
  readonly plannedUpTo: number;
  readonly trainStep: number;
  readonly published: PublishedWeights | undefined;
  readonly end: RunEnd | undefined;
}

/** The run is over; explorers exit. */
export interface RunEnd {
  readonly trainStep: number;
}

/**
 * Store that the processes of a run share. Calls that are refused reject with a `BufferError`, of
 * code `MEMBER_FENCED` if `epoch` is not the newest.
 */
export interface RunStore {
  /**
   * Makes this process a member of the run.
   * @throws BufferError `MEMBER_ALIVE` naming a live member of that name, or the live trainer;
   * `MEMBER_DIFFERS` naming a setting that differs from that of a live member or of the run
   */
  join(info: MemberInfo): Promise<Membership>;
  /**
   * Reports that the member is alive. Call it several times per lease time, even while the member
   * is busy.
   */
  heartbeat(member: Membership, state: MemberState): Promise<void>;
  /** Ends the membership and releases the member's leases at once. */
  leave(member: Membership): Promise<void>;

  /**
   * Plans the explore step after the last planned one, or adds evaluation batches to that step.
   * Batches that are already planned stay unchanged. Returns false if another member has planned
   * all batches, or if the step does not follow the last one; repeating a call returns true. An
   * evaluation before the first step belongs to step 0; evaluations at the end belong to a step
   * that explores nothing.
   */
  plan(member: Membership, plan: ExplorePlan): Promise<boolean>;
  lastPlan(): Promise<Pick<ExplorePlan, 'step' | 'feed' | 'isLast'> | undefined>;
  /**
   * Leases up to `count` tasks of explore steps up to `maxStep`, oldest first: open tasks, and
   * tasks of members without a heartbeat for the lease time. A member makes one call at a time,
   * and only through the store with which it joined.
   */
  leaseTasks(
    member: Membership,
    request: { readonly count: number; readonly maxStep: number },
  ): Promise<readonly LeasedTask[]>;
  /**
   * Stores the result of a leased task. Returns `late` if the task is leased to another explorer,
   * has the result of another one, or was cut off; then only the count of late results changes.
   * Storing the same result again returns `stored`.
   */
  storeResult(member: Membership, task: LeasedTask, result: TaskResult): Promise<'stored' | 'late'>;
  releaseTask(member: Membership, task: LeasedTask): Promise<void>;
  countDoneTasks(batch: string): Promise<number>;
  /**
   * Stops a batch from waiting for its unfinished tasks: those that are not leased, or whose
   * explorer sends no heartbeats, are closed without a result. May be repeated to close tasks for
   * which this has become true since.
   */
  cutOffBatch(member: Membership, batch: string): Promise<void>;
  /**
   * The member's leased tasks in batches that were cut off: the member should store the results it
   * has.
   */
  cutOffTasks(member: Membership): Promise<readonly LeasedTask[]>;

  /** Batches after place `order`, in the order in which they became complete. */
  batchesCompletedAfter(order: number): Promise<readonly CompleteBatch[]>;
  readBatch(batch: string): Promise<BatchContents>;
  /** Returns the uids, out of `uids`, of experiences that are stored and not used up. */
  filterUnused(uids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Stores the reward of a run that awaits one. Callers need not be members. */
  reward(runKey: string, value: number): Promise<RewardReceipt>;
  /**
   * Rewards that have arrived for the runs `waiting`, by run key. Stops waiting for all other runs
   * up to explore step `step`: rewards that arrive later are `late`.
   */
  takeRewards(
    member: Membership,
    waiting: readonly string[],
    step: number,
  ): Promise<ReadonlyMap<string, number>>;
  /**
   * Records an optimizer step and the experiences that it used up, in one transaction. Repeating it
   * changes nothing.
   */
  recordTrainStep(member: Membership, record: TrainRecord): Promise<void>;
  /** Records of the steps after `trainStep`, which a trainer that resumes there repeats. */
  trainRecordsAfter(trainStep: number): Promise<readonly TrainRecord[]>;
  /**
   * Deletes the experiences of complete batches that were fully used up by steps up to `trainStep`,
   * and the records of these steps.
   */
  prune(member: Membership, trainStep: number): Promise<void>;

  /** Publishes weights. Accepts a version again if the digest is the same. */
  publishWeights(member: Membership, weights: PublishedWeights): Promise<void>;
  /** The newest weights; with `boundary`, those of that synchronization point. */
  publishedWeights(boundary?: number): Promise<PublishedWeights | undefined>;
  putWeightFile(member: Membership, file: WeightFile): Promise<void>;
  getWeightFile(version: number, path: string): Promise<Uint8Array | undefined>;
  /** Deletes the weight files of versions before `version`, which no explore step needs any more. */
  deleteWeightFilesBefore(member: Membership, version: number): Promise<void>;
  reportDelivery(member: Membership, delivery: Delivery): Promise<void>;

  finishRun(member: Membership, end: RunEnd): Promise<void>;
  view(): Promise<RunView>;
  /**
   * Resolves after a change, or after `timeoutMs` at the latest. Changes since the previous call
   * count. A hint: callers must re-check the state after it resolves.
   */
  waitForChange(timeoutMs: number, signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface WeightFile {
  readonly version: number;
  /** Relative path, with forward slashes. */
  readonly path: string;
  readonly bytes: Uint8Array;
}
