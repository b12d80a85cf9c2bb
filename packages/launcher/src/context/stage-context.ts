/** What every mode gets: the stage to run and what all stages share. */
import type { AlgorithmTables } from '@trinity-rft/algorithm';
import type { MetricSink, RewardFn, Runtime, Task } from '@trinity-rft/core';
import type { StageConfig } from '@trinity-rft/config';
import type { ResumePoint } from '@trinity-rft/monitor';
import type { Registry, RewardDefinition, WorkflowDefinition } from '@trinity-rft/workflow';

export interface StageContext {
  readonly stage: StageConfig;
  /** Model folder that the stage begins with. */
  readonly startModel: string;
  /** An earlier process ended the stage; it may have become longer since. */
  readonly endedBefore: boolean;
  readonly runtime: Runtime;
  /** Opens the metric files, once it is known where the stage goes on. */
  readonly openSink: (resume: ResumePoint) => MetricSink;
  readonly workflows: Registry<WorkflowDefinition>;
  readonly rewardFns: Registry<RewardDefinition>;
  /** With those of plugins. */
  readonly algorithms: AlgorithmTables;
  /** Interrupts the run: finish the step, save, stop. */
  readonly signal: AbortSignal;
  /** Told how many train steps are to come, as soon as that is known. */
  readonly expectSteps: (total: number | undefined) => void;
  /** Mode `serve`. */
  readonly serve?: ServeOptions;
}

/** What mode `serve` takes from its caller. */
export interface ServeOptions {
  /** @default `explorer.listen_address` */
  readonly host?: string;
  /** 0 = any that is free. @default `explorer.proxy_port` */
  readonly port?: number;
  /** That clients have to send. @default a random one */
  readonly apiKey?: string;
  /** False: another process trains, in mode `train`. @default true */
  readonly train?: boolean;
  /** How long requests in progress are waited for at the end, in ms. @default 30_000 */
  readonly drainMs?: number;
  /** Requests are served from now on. */
  readonly onOpen?: (address: ServeAddress) => void;
}

export interface ServeAddress {
  /** `http://HOST:PORT` */
  readonly url: string;
  /** A secret: for the person or program that started the server, never for a log. */
  readonly apiKey: string;
}

export interface StageResult {
  readonly interrupted: boolean;
  /** An earlier process ended the stage, and nothing was left to do. */
  readonly doneBefore: boolean;
  /** Optimizer steps made in the whole stage. */
  readonly trainStep: number;
  /** Folder of the last checkpoint, when there is one. */
  readonly checkpoint: string | undefined;
}

/** Looks up, once per name and arguments, the reward function a task names. */
export function rewardFnFinder(
  registry: Registry<RewardDefinition>,
): (task: Task) => RewardFn | undefined {
  const made = new Map<string, RewardFn>();
  return ({ rewardFn, rewardFnArgs }) => {
    if (rewardFn === undefined) return undefined;
    const key = `${rewardFn}\n${JSON.stringify(rewardFnArgs)}`;
    const known = made.get(key);
    if (known) return known;
    const created = registry.get(rewardFn).create(rewardFnArgs);
    made.set(key, created);
    return created;
  };
}
