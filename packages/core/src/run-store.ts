/**
 * The run store seam: what the processes of one run share. Any number of explorers and one trainer
 * read and write it; each call is one transaction, and none holds a lock when it returns.
 */
import type { JsonState } from './buffer.js';
import type { Experience } from './experience.js';

export type MemberRole = 'explorer' | 'trainer';

/** A process that takes part in a run. */
export interface MemberInfo {
  readonly role: MemberRole;
  /** Unique among the live members of a run. */
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  /** Settings on which all members must agree. @default nothing */
  readonly agreement?: Agreement;
}

/** Texts by the key of a setting. */
export type Agreement = Readonly<Record<string, string>>;

/** Wait of a member: for what, and since when. */
export interface Wait {
  /** Completes the sentence "waits for ...": `the weights for explore step 5`. */
  readonly what: string;
  /** Role or member that can end the wait. Undefined: something outside the run. */
  readonly on: string | undefined;
  /** Milliseconds, on the member's clock, since the wait began. */
  readonly forMs: number;
}

/** State that a member reports with each heartbeat. */
export interface MemberState {
  /** Empty while it works. */
  readonly waits: readonly Wait[];
  /** Version of the weights that it uses or made last. */
  readonly version: number;
  /** Explorer only: it would take newer weights than these at once. @default it would not */
  readonly asksForNewerThan?: number;
  /** Further facts, for people: rates, progress. */
  readonly facts: JsonState;
}

/**
 * A member's place in the run. It holds as long as the member beats: once it has been silent for
 * the store's lease time, its tasks are given to others, and a trainer can be replaced.
 */
export interface Membership extends MemberInfo {
  /** Rises with every join under this name; what was written with an older one is refused. */
  readonly epoch: number;
}

/** A task of an explore step or of an evaluation, as the member that planned it named it. */
export interface PlannedTask {
  /** Place in its batch, from 0. */
  readonly task: number;
  readonly taskset: string;
  /** Row of the task set. */
  readonly row: number;
}

/** The tasks of one batch: an explore step, or one set of an evaluation. */
export interface PlannedBatch {
  /** First part of the experience ids: the explore step, or `<step>/<evaluation set>`. */
  readonly batch: string;
  readonly step: number;
  readonly isEval: boolean;
  /**
   * The version that must sample it, or in the asynchronous styles the oldest one that may. Undefined:
   * whichever the explorer has.
   */
  readonly version: number | undefined;
  readonly tasks: readonly PlannedTask[];
}

export interface ExplorePlan {
  readonly step: number;
  readonly batches: readonly PlannedBatch[];
  /** State of the task feed after this step, from which the next step is planned. */
  readonly feed: JsonState;
  /** No explore step follows. */
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
  /** In run order; empty if every run failed, and for evaluation. */
  readonly experiences: readonly Experience[];
  /** Input of the metrics of the explore step, as plain JSON. */
  readonly outcome: JsonState;
  /** Run keys of the runs whose reward is to come; the batch does not wait for it. @default none */
  readonly awaits?: readonly string[];
}

/** A batch all of whose tasks have a result. */
export interface CompleteBatch {
  /** Place in the order in which batches became complete, from 1. */
  readonly order: number;
  readonly batch: string;
  readonly step: number;
  readonly isEval: boolean;
  /** Its experiences were used up and deleted. */
  readonly isPruned: boolean;
}

export interface BatchContents {
  /** In task order; of a task that was cut off without a result, the outcome is empty. */
  readonly results: readonly (TaskResult & { readonly explorer: string })[];
  /** Experiences that a train step has used up or discarded already, by uid. */
  readonly used: ReadonlySet<string>;
  /** How many train steps have trained on an experience, by uid; none: not in it. */
  readonly useCounts: ReadonlyMap<string, number>;
}

/**
 * Result of a reward: `late` when its run has another one, or was given up;
 * `unknown` when no run of that key awaits one.
 */
export type RewardReceipt = 'stored' | 'late' | 'unknown';

/** A run whose reward is to come. */
export interface AwaitedRun {
  /** Result of `runKey` of core: `batch/task/run`. */
  readonly runKey: string;
  /** Milliseconds since it was stored, by the calendar's clock. */
  readonly forMs: number;
}

/** Record of what one optimizer step used up. */
export interface TrainRecord {
  readonly trainStep: number;
  /** Uids, in the order of the batch. */
  readonly trained: readonly string[];
  /** Those of `trained` that may be trained on again. @default none */
  readonly kept?: readonly string[];
  /** Uids that will not be trained on, by reason: `stale`, `filtered`, `merged` into another one. */
  readonly discarded: readonly { readonly uid: string; readonly reason: string }[];
}

/** Weights that the trainer has made available to explorers. */
export interface PublishedWeights {
  /** The train step that made them; 0 = the model that the run starts from. */
  readonly version: number;
  /** Every explore step up to this one has been used up by it. */
  readonly exploredUpTo: number;
  /** The meeting point that they belong to, in explore steps; see the synchronizer. */
  readonly boundary: number | undefined;
  /** A folder that both sides can reach, or the store itself. */
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
  /** Natural logarithm, of tokens[promptLength..]. */
  readonly logprobs: readonly number[];
}

/** Result of an explorer's attempt to use published weights. */
export interface Delivery {
  readonly version: number;
  /** Mean difference to the probe, in nats. Undefined: it was not scored. */
  readonly difference: number | undefined;
  /** Why they were refused. Undefined: they are in use. */
  readonly problem: string | undefined;
}

/** A member as others see it. */
export interface MemberView extends Membership, MemberState {
  readonly isAlive: boolean;
  /** It ended of its own accord, or was replaced. */
  readonly hasLeft: boolean;
  /** Milliseconds since its last beat. */
  readonly silentForMs: number;
  readonly delivery: Delivery | undefined;
}

/** How far a run is, at one moment. */
export interface RunView {
  readonly members: readonly MemberView[];
  readonly tasks: { readonly open: number; readonly leased: number; readonly done: number };
  /** Done within the last minute. */
  readonly lastMinute: { readonly tasks: number; readonly trainSteps: number };
  /** Tasks in progress: who has them. */
  readonly leases: readonly (LeasedTask & { readonly explorer: string })[];
  /** Late results: the task had been leased to another worker by then. */
  readonly lateResults: number;
  readonly experiences: {
    readonly total: number;
    readonly waiting: number;
    /** Version that sampled the oldest one that waits. Undefined: none waits. */
    readonly oldestVersion: number | undefined;
    readonly trained: number;
    /** Keyed by reason. */
    readonly discarded: Readonly<Record<string, number>>;
  };
  /** Runs whose reward is to come. */
  readonly awaitedRuns: number;
  /** Size bytes of the store, on disk. */
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

/** Refused calls reject with `BufferError`: `MEMBER_FENCED` when `epoch` is not the newest. */
export interface RunStore {
  /**
   * @throws BufferError `MEMBER_ALIVE` naming the live member of that name, or the live trainer;
   * `MEMBER_DIFFERS` naming a setting and the live member that has another one
   */
  join(info: MemberInfo): Promise<Membership>;
  /** To be called several times per lease time, whatever else the member does. */
  beat(member: Membership, state: MemberState): Promise<void>;
  /** Gives up its leases at once. */
  leave(member: Membership): Promise<void>;

  /**
   * Plans the explore step after the last planned one, or adds batches to that one (evaluations,
   * which come after it). Batches that are planned already stay as they are; false when all were,
   * or when another member was faster. An evaluation before the first step is of step 0, those at
   * the end are of a step that explores nothing.
   */
  plan(member: Membership, plan: ExplorePlan): Promise<boolean>;
  lastPlan(): Promise<Pick<ExplorePlan, 'step' | 'feed' | 'isLast'> | undefined>;
  /**
   * Up to `count` tasks of explore steps up to `maxStep`, oldest first: open ones, and those of
   * members that are silent. A task is not leased to another worker until its owner has been silent for the lease time.
   * One call of a member at a time, all through the store with which it joined.
   */
  lease(
    member: Membership,
    request: { readonly count: number; readonly maxStep: number },
  ): Promise<readonly LeasedTask[]>;
  /**
   * Stores the result of a leased task. `late`: the task was leased to another worker or has a result; nothing
   * was stored but that one more result came late. The same result a second time is `stored`.
   */
  complete(member: Membership, task: LeasedTask, result: TaskResult): Promise<'stored' | 'late'>;
  /** Gives a task back, undone. */
  giveBack(member: Membership, task: LeasedTask): Promise<void>;
  /** How many tasks of a batch have a result. */
  doneTasks(batch: string): Promise<number>;
  /**
   * The batch is not to wait for its other tasks: those that no worker has, or whose owner is
   * silent, are done without a result. May be repeated.
   */
  cutOff(member: Membership, batch: string): Promise<void>;
  /** Tasks of the member that their batch does not wait for: it is to store what it has of them. */
  cutTasks(member: Membership): Promise<readonly LeasedTask[]>;

  /** Batches that became complete after `order`, in that order. */
  completeBatches(order: number): Promise<readonly CompleteBatch[]>;
  read(batch: string): Promise<BatchContents>;
  /** Those of these experiences that are stored and not used up. */
  unusedOf(uids: readonly string[]): Promise<ReadonlySet<string>>;
  /** The reward of a run that awaits one; anybody may bring it. */
  reward(runKey: string, value: number): Promise<RewardReceipt>;
  /** Rewards of those of these runs that have got one, by run key. */
  rewardsOf(runKeys: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Oldest first. */
  awaitedRuns(): Promise<readonly AwaitedRun[]>;
  /** Rewards that come for them from now on are late. */
  giveUpRewards(member: Membership, runKeys: readonly string[]): Promise<void>;
  /** Records an optimizer step and what it used up, in one transaction. Repeating it changes nothing. */
  acknowledge(member: Membership, record: TrainRecord): Promise<void>;
  /** Records of the steps after `trainStep`, which a trainer that resumes there repeats. */
  recordsAfter(trainStep: number): Promise<readonly TrainRecord[]>;
  /** Deletes the experiences of complete batches that steps up to `trainStep` have used up wholly. */
  prune(member: Membership, trainStep: number): Promise<void>;

  /** Publishing a version again is accepted if the digest is the same. */
  publish(member: Membership, weights: PublishedWeights): Promise<void>;
  /** The newest; with `boundary`, those of that meeting point. */
  published(boundary?: number): Promise<PublishedWeights | undefined>;
  putFile(member: Membership, file: WeightFile): Promise<void>;
  getFile(version: number, path: string): Promise<Uint8Array | undefined>;
  /** Deletes the files of versions that no explore step needs any more. */
  deleteFilesBefore(member: Membership, version: number): Promise<void>;
  delivered(member: Membership, delivery: Delivery): Promise<void>;

  finish(member: Membership, end: RunEnd): Promise<void>;
  view(): Promise<RunView>;
  /**
   * Resolves once anything may have changed since the call before, at the latest after `timeoutMs`.
   * A hint: callers must re-check the state after it resolves.
   */
  changed(timeoutMs: number, signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface WeightFile {
  readonly version: number;
  /** Relative, with forward slashes. */
  readonly path: string;
  readonly bytes: Uint8Array;
}
