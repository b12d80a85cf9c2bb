/**
 * Interface of the run store, which holds the state that the processes of one training run share.
 * One trainer and any number of explorers read and write it. Each call is one transaction, and
 * holds no lock after it returns.
 */
import type { JsonState } from './buffer.js';
import type { Experience } from './experience.js';
import type { RewardReceipt } from './late-rewards.js';

export type MemberRole = 'explorer' | 'trainer';

/** A worker: a process that takes part in a training run. */
export interface MemberInfo {
  readonly role: MemberRole;
  /** Name that is unique among the live workers of a training run. */
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  /** Settings that must be equal for all workers. @default no settings */
  readonly agreement?: Agreement;
}

/** Settings on which all workers must agree: values as strings, keyed by name. */
export type Agreement = Readonly<Record<string, string>>;

/** Reason and duration of one wait of a worker. */
export interface Wait {
  /** Noun phrase shown after "waiting for": `the weights for explore step 5`. */
  readonly what: string;
  /** Role or worker that can end the wait. Undefined if no worker can. */
  readonly on: string | undefined;
  /** Duration of the wait up to now in milliseconds, on the worker's clock. */
  readonly forMs: number;
}

/** Status that a worker reports with each heartbeat. */
export interface MemberState {
  /** Current waits of the worker; empty while it works. */
  readonly waits: readonly Wait[];
  /** Version of the weights that an explorer uses, or that the trainer published last. */
  readonly version: number;
  /**
   * Explorer only: set while the explorer waits for weights that are newer than this version.
   * @default undefined: the explorer does not wait for weights
   */
  readonly asksForNewerThan?: number;
  /** Additional information to display, such as rates and progress. */
  readonly facts: JsonState;
}

/**
 * The membership of a process in a training run. It lasts as long as the process sends heartbeats.
 * If a worker sends no heartbeat for the store's lease time, other workers may lease its tasks. If
 * this worker is the trainer, another process may also replace it.
 */
export interface Membership extends MemberInfo {
  /**
   * Number that increases with every join under this name. Writes with an older epoch are refused.
   */
  readonly epoch: number;
}

/** A task that was planned for an explore step or an evaluation. */
export interface PlannedTask {
  /** Index of the task in its batch, from 0. */
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
   * Policy version that must sample the batch. In the asynchronous sync styles, the oldest version
   * that may sample it. Undefined if explorers may use any version.
   */
  readonly version: number | undefined;
  readonly tasks: readonly PlannedTask[];
}

export interface ExplorePlan {
  readonly step: number;
  readonly batches: readonly PlannedBatch[];
  /** State of the task feed after this step. The next step is planned from this state. */
  readonly feed: JsonState;
}

/** A task that is leased to one explorer. */
export interface LeasedTask extends PlannedTask {
  readonly batch: string;
  readonly step: number;
  readonly isEval: boolean;
  readonly version: number | undefined;
}

export interface TaskResult {
  /**
   * Experiences in the order of the rollouts; empty if every rollout failed, and for evaluations.
   */
  readonly experiences: readonly Experience[];
  /** Data for computing the metrics of the explore step, as plain JSON. */
  readonly outcome: JsonState;
  /**
   * Run keys of rollouts whose rewards arrive later. The batch does not wait for these rewards.
   * @default empty
   */
  readonly awaits?: readonly string[];
}

/** A batch in which every task has a result or was cut off. */
export interface CompleteBatch {
  /** Position, from 1, in the order in which batches became complete. */
  readonly order: number;
  readonly batch: string;
  readonly step: number;
  readonly isEval: boolean;
  /** True if the batch's experiences were consumed and deleted. */
  readonly isPruned: boolean;
}

export interface BatchContents {
  /**
   * Results in the order of the tasks. A task that was cut off without a result has an empty
   * outcome.
   */
  readonly results: readonly (TaskResult & { readonly explorer: string })[];
  /** Uids of experiences that train steps have already consumed or discarded. */
  readonly used: ReadonlySet<string>;
  /**
   * Number of train steps that have trained on each experience, keyed by uid. Experiences that no
   * step has trained on are absent.
   */
  readonly useCounts: ReadonlyMap<string, number>;
}

/** Record of an optimizer step: the experiences that it consumed. */
export interface TrainRecord {
  readonly trainStep: number;
  /** Uids of the experiences that the step trained on, in the order of the batch. */
  readonly trained: readonly string[];
  /** Uids of `trained` that may be trained on again. @default empty */
  readonly kept?: readonly string[];
  /**
   * Uids of experiences that will not be trained on, with the reason: `stale`, `filtered`, or
   * `merged` into another experience.
   */
  readonly discarded: readonly { readonly uid: string; readonly reason: string }[];
}

/** Weights that the trainer has made available to explorers. */
export interface PublishedWeights {
  /** Train step that made the weights; 0 = the initial model of the training run. */
  readonly version: number;
  /**
   * Last explore step whose experiences were all trained on or discarded before these weights were
   * made.
   */
  readonly exploredUpTo: number;
  /**
   * True for the weights of the final evaluation, which may be later than those of the last
   * synchronization point.
   */
  readonly final: boolean;
  /** Location of the files: a folder that trainer and explorers can reach, or the store itself. */
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
  /** Natural-log probabilities of the tokens after the first `promptLength`. */
  readonly logprobs: readonly number[];
}

/** Result of an explorer's attempt to switch to published weights. */
export interface Delivery {
  readonly version: number;
  /**
   * Mean absolute difference between the explorer's log-probabilities and those of the probe, in
   * nats. Undefined if the probe was not scored, or the difference is not finite.
   */
  readonly difference: number | undefined;
  /** Reason why the explorer refused the weights; undefined if it uses them. */
  readonly problem: string | undefined;
}

/** Membership and status of a worker, as read from the store. */
export interface MemberView extends Membership, MemberState {
  readonly isAlive: boolean;
  /** True if the worker left the training run or was replaced. */
  readonly hasLeft: boolean;
  /** Milliseconds since the worker's last heartbeat. */
  readonly silentForMs: number;
  readonly delivery: Delivery | undefined;
}

/** Snapshot of the progress of a training run. */
export interface RunView {
  readonly members: readonly MemberView[];
  readonly tasks: { readonly open: number; readonly leased: number; readonly done: number };
  /** Number of tasks and number of train steps that were completed within the last minute. */
  readonly lastMinute: { readonly tasks: number; readonly trainSteps: number };
  /** Tasks in progress, each with the explorer that holds it. */
  readonly leases: readonly (LeasedTask & { readonly explorer: string })[];
  /**
   * Number of results that were rejected because their task had been leased to another explorer or
   * cut off.
   */
  readonly lateResults: number;
  readonly experiences: {
    readonly total: number;
    readonly waiting: number;
    /** Oldest policy version of the waiting experiences. Undefined if no experience waits. */
    readonly oldestVersion: number | undefined;
    readonly trained: number;
    /** Numbers of discarded experiences, keyed by reason. */
    readonly discarded: Readonly<Record<string, number>>;
  };
  /** Number of rollouts whose reward has not arrived yet. */
  readonly awaitedRuns: number;
  /** Size of the store on disk, in bytes. */
  readonly sizeBytes: number;
  readonly plannedUpTo: number;
  readonly trainStep: number;
  readonly published: PublishedWeights | undefined;
  readonly end: RunEnd | undefined;
}

/** End of the training run, as recorded in the store. Explorers exit when they read it. */
export interface RunEnd {
  readonly trainStep: number;
}

/**
 * A store that the processes of a training run share. A refused call rejects with a `BufferError`,
 * whose code is `MEMBER_FENCED` if the caller's `epoch` is not the newest.
 */
export interface RunStore {
  /**
   * Makes this process a worker of the training run.
   * @throws BufferError `MEMBER_ALIVE` if a live worker has the same name, or a trainer joins while
   * the run has a live trainer; `MEMBER_DIFFERS` if a setting differs from that of a live worker or
   * of the training run. The error names the other worker or the setting.
   */
  join(info: MemberInfo): Promise<Membership>;
  /**
   * Reports that the worker is alive. Call it several times per lease time, even while the worker
   * is busy.
   */
  heartbeat(member: Membership, state: MemberState): Promise<void>;
  /** Ends the membership, and immediately releases the worker's leases. */
  leave(member: Membership): Promise<void>;

  /**
   * Plans the next explore step, or adds evaluation batches to the last planned step. Batches that
   * are already planned stay unchanged. Returns false if another worker has planned all batches, or
   * if the step is not the next one. Repeating a successful call returns true. An evaluation before
   * the first explore step has step 0. Evaluations after the last explore step form a step of their
   * own without exploration.
   */
  plan(member: Membership, plan: ExplorePlan): Promise<boolean>;
  lastPlan(): Promise<Pick<ExplorePlan, 'step' | 'feed'> | undefined>;
  /**
   * Leases up to `count` tasks of explore steps up to `maxStep`, oldest first. Leases open tasks,
   * and tasks of workers that have sent no heartbeat for the lease time. If `weights` is given,
   * leases only tasks that were planned for this version or for no version; if `mayBeNewer` is
   * true, also tasks that were planned for older versions. A worker must make one call at a time,
   * and only through the store with which it joined.
   */
  leaseTasks(
    member: Membership,
    request: {
      readonly count: number;
      readonly maxStep: number;
      readonly weights?: { readonly version: number; readonly mayBeNewer: boolean };
    },
  ): Promise<readonly LeasedTask[]>;
  /**
   * Stores the result of a leased task. Returns `late` if the task is leased to another explorer,
   * already has the result of another explorer, or was cut off. In these cases only the count of
   * late results changes. Storing the same result again returns `stored`.
   */
  storeResult(member: Membership, task: LeasedTask, result: TaskResult): Promise<'stored' | 'late'>;
  releaseTask(member: Membership, task: LeasedTask): Promise<void>;
  countDoneTasks(batch: string): Promise<number>;
  /**
   * Stops a batch from waiting for unfinished tasks. Tasks that are not leased, or whose explorer
   * sends no heartbeats, are closed without a result. The call must be repeated to close tasks to
   * which this applies only later.
   */
  cutOffBatch(member: Membership, batch: string): Promise<void>;
  /**
   * Returns the worker's leased tasks in batches that were cut off. The worker should store the
   * results that these tasks have so far.
   */
  cutOffTasks(member: Membership): Promise<readonly LeasedTask[]>;

  /** Returns the batches whose `CompleteBatch.order` is greater than `order`, in that order. */
  batchesCompletedAfter(order: number): Promise<readonly CompleteBatch[]>;
  readBatch(batch: string): Promise<BatchContents>;
  /** Returns the subset of `uids` whose experiences are stored and not consumed. */
  filterUnused(uids: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Stores the reward of a rollout that waits for its reward. Callers need not be workers of the
   * run.
   */
  reward(runKey: string, value: number): Promise<RewardReceipt>;
  /**
   * Returns the rewards that have arrived for the rollouts `waiting`, keyed by run key. All other
   * rollouts of explore steps up to `step` stop waiting: rewards that arrive for them later are
   * `late`.
   */
  takeRewards(
    member: Membership,
    waiting: readonly string[],
    step: number,
  ): Promise<ReadonlyMap<string, number>>;
  /**
   * Records an optimizer step and the experiences that it consumed, in one transaction. Repeating
   * the call changes nothing.
   */
  recordTrainStep(member: Membership, record: TrainRecord): Promise<void>;
  /**
   * Returns the records of the train steps after `trainStep`. A trainer that resumes at `trainStep`
   * repeats these steps.
   */
  trainRecordsAfter(trainStep: number): Promise<readonly TrainRecord[]>;
  /**
   * Deletes the experiences of those complete batches that train steps up to `trainStep` have
   * consumed completely. Also deletes the records of these steps.
   */
  prune(member: Membership, trainStep: number): Promise<void>;

  /**
   * Publishes weights. A version can be published again if its digest is the same. The weight
   * folders of later versions are then looked for next to the folder of this version, because the
   * folder of a training run may have been moved.
   * @param options `resumes`: true to forget later versions if the training run has ended or its
   * final evaluation has begun, so that explorers use this version. @default false
   */
  publishWeights(
    member: Membership,
    weights: PublishedWeights,
    options?: { readonly resumes?: boolean },
  ): Promise<void>;
  /** Returns the newest weights. */
  publishedWeights(): Promise<PublishedWeights | undefined>;
  putWeightFile(member: Membership, file: WeightFile): Promise<void>;
  getWeightFile(version: number, path: string): Promise<Uint8Array | undefined>;
  /**
   * Deletes the weight files of versions before `version`. Call it when no explore step needs these
   * files any more.
   */
  deleteWeightFilesBefore(member: Membership, version: number): Promise<void>;
  reportDelivery(member: Membership, delivery: Delivery): Promise<void>;

  /**
   * Records the end of the training run. The end stays recorded until a trainer publishes the
   * newest weights again, or newer ones.
   */
  finishRun(member: Membership, end: RunEnd): Promise<void>;
  view(): Promise<RunView>;
  /**
   * Resolves after a change, or after `timeoutMs` at the latest. Resolves immediately if something
   * has changed since the previous call. This is only a hint: callers must re-check the state.
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
