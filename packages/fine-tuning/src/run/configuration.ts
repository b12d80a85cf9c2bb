/** Writes the configuration of a job's training run, which users can also pass to `trinity run`. */
import { mergeTrees, type Tree } from '@trinity-rft/core/support';
import { stringify } from 'yaml';
import { treeAt, usesTinker, type ModelSettings } from '../store/base-models.js';
import type { JobRecord } from '../store/jobs.js';
import type { JobMethod } from '../wire/job-request.js';

/** Group size at a `compute_multiplier` of 1. */
const groupSize = 8;

export const project = 'fine-tuning';

export interface JobPlan {
  readonly job: JobRecord;
  /** Configuration of the base or trained model from which the job starts. */
  readonly settings: ModelSettings;
  /** Hyperparameters of the job, in which `auto` has been replaced with numbers. */
  readonly numbers: Readonly<Record<string, number>>;
  /** Learning rate that `learning_rate_multiplier` scales. */
  readonly baseRate: number;
  /** Folder that contains the training runs of all jobs. */
  readonly runs: string;
  readonly rows: { readonly path: string; readonly count: number };
  readonly validation?: { readonly path: string } | undefined;
  /** Folders of the models that the grader calls, keyed by model name. */
  readonly graderModels: Readonly<Record<string, string>>;
  readonly pythonGraders: boolean;
}

/**
 * Maximum number of checkpoints of a job. A job with at most this many epochs saves a checkpoint
 * after each epoch.
 */
const mostCheckpoints = 10;

export const stepsOf = (plan: Pick<JobPlan, 'rows' | 'numbers'>): number =>
  Math.max(
    1,
    Math.floor((plan.rows.count * plan.numbers['n_epochs']!) / plan.numbers['batch_size']!),
  );

/**
 * Returns the number of train steps between checkpoints. This is one epoch, or several epochs if
 * the job has more than {@link mostCheckpoints} epochs.
 */
function saveInterval(plan: JobPlan): number {
  const epochs = plan.numbers['n_epochs']!;
  return Math.ceil((stepsOf(plan) * Math.ceil(epochs / mostCheckpoints)) / epochs);
}

export function configurationText(plan: JobPlan): string {
  const { id, model } = plan.job;
  return `# Fine-tuning job ${id} of ${model}. By hand: trinity run FILE\n${stringify(configurationOf(plan))}`;
}

const embeddedAdapter: Tree = {
  model: { lora_configs: [{ lora_rank: 16, lora_alpha: 32, target_modules: 'all-linear' }] },
};

/**
 * Creates the configuration from the settings of the job and of its model. The model's settings
 * take precedence. The learning rate is scaled by the job's multiplier.
 */
function configurationOf(plan: JobPlan): Tree {
  const { job, settings, numbers, baseRate, runs } = plan;
  const common: Tree = {
    project,
    name: job.id,
    checkpoint_root_dir: runs,
    seed: job.seed,
    trainer: { save_interval: saveInterval(plan) },
  };
  const adapter = usesTinker(settings) ? {} : embeddedAdapter;
  const own = [common, adapter, ...byMethod[job.method.type](plan)].reduce(mergeTrees);
  const { model_path } = settings.model;
  const merged = [literal(own), settings, literal({ model: { model_path } })].reduce(mergeTrees);
  const optimizer = treeAt(treeAt(merged, 'algorithm'), 'optimizer');
  const rate = typeof optimizer['lr'] === 'number' ? optimizer['lr'] : baseRate;
  const lr = rate * numbers['learning_rate_multiplier']!;
  return mergeTrees(merged, { algorithm: { optimizer: { lr } } });
}

/**
 * Escapes `${` in all strings of a tree. Paths and strings from clients, such as a grader's
 * prompts, are thus not interpolated, which could reveal environment variables of the server.
 */
const literal = (tree: Tree): Tree =>
  JSON.parse(JSON.stringify(tree), (_, value: unknown) =>
    typeof value === 'string' ? value.replaceAll('${', '\\${') : value,
  ) as Tree;

const shuffled = { data_selector: { selector_type: 'shuffle' } };

const byMethod: Readonly<Record<JobMethod['type'], (plan: JobPlan) => readonly Tree[]>> = {
  supervised: (plan) => [
    { mode: 'train', algorithm: { algorithm_type: 'sft' } },
    // Trains on every assistant message whose weight is not 0.
    trainOn(plan, { messages_key: 'messages', enable_concatenated_multi_turn: true }),
  ],
  dpo: (plan) => [
    {
      mode: 'train',
      algorithm: { algorithm_type: 'dpo', policy_loss_fn_args: { beta: plan.numbers['beta'] } },
    },
    trainOn(plan, {}),
  ],
  reinforcement: (plan) => [rollouts(plan)],
};

const trainOn = ({ rows, numbers }: JobPlan, format: Tree): Tree => ({
  buffer: {
    train_batch_size: numbers['batch_size'],
    total_steps: stepsOf({ rows, numbers }),
    trainer_input: {
      experience_buffer: {
        name: 'rows',
        storage_type: 'file',
        path: rows.path,
        format,
        ...shuffled,
      },
    },
  },
});

function rollouts(plan: JobPlan): Tree {
  const { job, numbers, rows, validation, graderModels, pythonGraders } = plan;
  const { method } = job;
  const grader = method.type === 'reinforcement' && method.reinforcement.grader;
  const workflow_args = { grader, ...(pythonGraders && { python_graders: true }) };
  const tasks = { default_workflow_type: 'openai_grader_workflow', workflow_args };
  const models = Object.entries(graderModels).map(([name, model_path]) => ({ name, model_path }));
  return {
    mode: 'both',
    algorithm: {
      algorithm_type: 'grpo',
      repeat_times: Math.max(2, Math.round(groupSize * numbers['compute_multiplier']!)),
    },
    buffer: {
      batch_size: numbers['batch_size'],
      total_steps: stepsOf(plan),
      explorer_input: {
        tasksets: [{ name: 'training', path: rows.path, ...tasks, ...shuffled }],
        eval_tasksets: validation
          ? [{ name: 'validation', ...validation, ...tasks, repeat_times: numbers['eval_samples'] }]
          : [],
      },
    },
    explorer: {
      eval_interval: validation ? numbers['eval_interval'] : 0,
      auxiliary_models: models,
    },
    synchronizer: { sync_method: 'memory', sync_style: 'fixed', sync_interval: 1 },
  };
}
