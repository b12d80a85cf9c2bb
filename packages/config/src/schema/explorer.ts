/** The `explorer` section. */
import { z } from 'zod';
import type { EngineFactsTable } from './engines.js';
import {
  as,
  derived,
  field,
  filledIn,
  ignored,
  listOf,
  maybe,
  milliseconds,
  section,
} from './fields.js';
import { auxiliaryModelItem, rolloutModelSection } from './inference.js';
import { dict, flag, float, int, oneOf, text, word } from './scalars.js';

const serveShape = {
  proxy_port: field(
    int({ min: 0, max: 65535 }),
    8010,
    'serve: port; 0 = any that is free.',
    as('port'),
  ),
  listen_address: field(
    word(),
    '127.0.0.1',
    'serve: address to listen on. Loopback is reachable from this machine only.',
    as('host'),
  ),
  cors_origins: listOf(
    text(),
    'serve: origins of web pages that may call from a browser, such as https://app.example; "*" for all.',
    as('corsOrigins'),
  ),
  service_status_check_interval: field(
    int({ min: 1 }),
    60,
    'serve: seconds between checks for new weights, if another process trains.',
    as('checkIntervalMs', milliseconds),
  ),
};

/** Keys that only mode `serve` reads. */
export const serveKeys = z.strictObject(serveShape);

const explorerShape = {
  name: field(
    word(),
    'explorer',
    'mode explore: tells the explorers of a run apart; each has its own.',
  ),
  runner_per_model: maybe(
    int({ min: 1 }),
    'Tasks in progress at once, each with all its runs. Default: all of a step.',
    derived,
  ),
  runner_prepare_concurrency: field(int({ min: 1 }), 128, 'Ray only.', ignored('It tunes Ray.')),
  runner_prepare_max_retries: field(int({ min: 0 }), 3, 'Ray only.', ignored('It tunes Ray.')),
  max_timeout: field(
    float({ above: 0 }),
    1800,
    'Seconds for one attempt of one run.',
    as('maxTimeoutMs', milliseconds),
  ),
  max_task_timeout: maybe(
    float({ above: 0 }),
    'Seconds for all runs of a task together, from its first attempt on, retries included; those that have ended then count. Waiting for an environment that fails is left out. Default: no limit but those of the attempts.',
    as('maxTaskTimeoutMs', (seconds: number | null) =>
      seconds === null ? undefined : milliseconds(seconds),
    ),
  ),
  max_reward_delay: field(
    float({ above: 0 }),
    86_400,
    'Seconds that a pending reward may take, unless the workflow says; then the run is dropped, or gets failure_reward.',
    as('maxRewardDelayMs', milliseconds),
  ),
  max_retry_times: field(int({ min: 0 }), 2, 'Further attempts of a failed run.'),
  failure_reward: maybe(
    float(),
    'Reward of a run whose agent fails, or runs out of time by its own calls, after it has called the model. Unset: failed runs are not trained on.',
  ),
  experience_shape: field(
    oneOf(['step', 'trajectory']),
    'step',
    'step: one experience per model call. trajectory: calls that continue each other token by token are one.',
  ),
  reasoning_history: field(
    oneOf(['as-sent', 'restore']),
    'as-sent',
    'restore: put reasoning back that the agent left out of earlier answers. as-sent: train on what it sends.',
  ),
  constrained_decoding: field(
    flag(),
    false,
    'Draw only tokens that conform to the answer format and the forced calls that an agent asks for. false: the prompt states them, and the model samples freely. serve always enforces them.',
  ),
  env_vars: field(dict(), {}, 'Environment of the workflows.', derived),
  concurrent_mode: field(
    oneOf(['sequential', 'asynchronous', 'multi-threading']),
    'sequential',
    'How the runs of one task share a runner.',
    ignored('Runs are always concurrent, each with its own workflow.'),
  ),
  max_repeat_times_per_runner: maybe(
    int({ min: 1 }),
    'Runs of one task per runner.',
    ignored('Every run is scheduled separately.', { except: [null] }),
  ),
  eval_interval: field(
    int({ min: 0 }),
    100,
    'Explore steps between evaluations; 0 = never.',
    derived,
  ),
  eval_on_startup: field(flag(), true, 'Evaluate before the first step.'),
  bench_on_latest_checkpoint: field(flag(), false, 'bench: only the newest checkpoint.'),
  ...serveShape,
  min_running_model_num: field(
    int({ min: 0 }),
    1,
    'serve only.',
    ignored('The one engine takes new weights between two calls.'),
  ),
  db_url: maybe(
    text(),
    'serve only.',
    ignored('Served calls are kept in serve/calls.db in the folder of the run.', {
      except: [null],
    }),
  ),
  over_rollout: section(
    {
      ratio: field(
        float({ min: 0, below: 1 }),
        0,
        'Wait only for 1 - ratio of the tasks of a step, rounded up; the others are cut off.',
      ),
      wait_after_min: field(
        float({ min: 0 }),
        30,
        'Seconds of grace for the others once so many have ended, without those in which runs wait for an environment that fails.',
        as('waitAfterMinMs', milliseconds),
      ),
      return_partial_tasks: field(
        flag(),
        false,
        'Train on the finished runs of a task that is cut off, if there are at least two.',
      ),
    },
    'Not waiting for the slowest tasks.',
  ),
  environment_failures: section(
    {
      max_retry_times: field(
        int({ min: 0 }),
        8,
        'Further attempts of a run whose environment fails while it works for other tasks; then the run is dropped and counted.',
      ),
      max_in_row: field(
        int({ min: 1 }),
        8,
        'Failures in a row after which all runs in the environment wait until it answers: of at least two tasks, or of one while no run was answered.',
      ),
      max_wait: field(
        float({ above: 0 }),
        1800,
        'Seconds that they wait; then the run ends, and can be started again.',
        as('maxWaitMs', milliseconds),
      ),
    },
    'Extension: environments that break. What they break is never trained on.',
  ),
  dynamic_timeout: section(
    {
      enable: field(
        flag(),
        false,
        'Derive the time limit of an attempt from the time that earlier ones took.',
      ),
      warmup_min_steps: field(int({ min: 0 }), 1, 'Explore steps before it applies, at least 1.'),
      ratio: field(
        float({ above: 0 }),
        3,
        'Multiple of the time in which nine of ten attempts of the workflow succeed; at most max_timeout.',
      ),
    },
    'A time limit that adapts. Evaluations have the whole max_timeout.',
  ),
  dynamic_sampling: section(
    {
      enable: maybe(
        flag(),
        'Draw further tasks in an explore step until as many runs are left by the operators as a batch has. Default: true for dapo.',
        derived,
      ),
      max_batches: field(
        int({ min: 1 }),
        10,
        'An explore step draws at most this many times batch_size tasks.',
      ),
    },
    'Batches that are full although operators drop groups.',
  ),
  runner_state_report_interval: field(
    int({ min: 0 }),
    0,
    'Seconds between reports of the runners; 0 = never.',
    ignored('There are no runner processes to report on.'),
  ),
  max_inflight_batches: maybe(
    int({ min: 1 }),
    'Explore steps whose runs are in flight at once. Default: all up to the next update of the weights.',
  ),
  mode: filledIn(),
};

export const explorerSection = (engines: EngineFactsTable) =>
  section(
    {
      ...explorerShape,
      rollout_model: rolloutModelSection(engines),
      auxiliary_models: listOf(
        auxiliaryModelItem(engines),
        'Further models for workflows: judges, teachers.',
        derived,
      ),
    },
    'Generates experiences.',
  );
