/** Replacements of models, data, addresses and sizes in an example of Trinity-RFT; everything else is unchanged. */
import type { Tree } from '../support/workspace.js';

/** First value of a key in the file, at any depth. */
const valueOf = (text: string, key: string): string | undefined =>
  new RegExp(String.raw`^\s*(?:- )?${key}:\s*['"]?([^'"#\n]+?)['"]?\s*(?:#.*)?$`, 'm').exec(
    text,
  )?.[1];

/**
 * Workflows whose tasks the environment must generate, because the rows of the example refer to
 * Trinity-RFT's data.
 */
const generated = /alfworld_workflow|intercode_sql_workflow|email_search_workflow|webshop_workflow/;

/** Task file of `createOriginalWorkspace` for an example. */
function fileOf(text: string): string {
  const workflow = valueOf(text, 'default_workflow_type') ?? '';
  if (/toolcall/.test(workflow)) return 'tool-calls.jsonl';
  if (/sciworld/.test(workflow)) return 'experiments.jsonl';
  if (/FrozenLake|frozen_lake/.test(workflow)) return 'lakes.jsonl';
  if (/countdown_reward/.test(text)) return 'countdown.jsonl';
  if (/^ {2}algorithm_type: dpo/m.test(text)) return 'pairs.jsonl';
  if (/^ {2}algorithm_type: sft/m.test(text)) return 'answers.jsonl';
  return 'rows.jsonl';
}

const ownAddress = (name: string): string => `sqlite:///${name.replaceAll(/\W/g, '-')}.db`;

/** Overrides of models, data and addresses for an example. */
export function replacements(name: string, text: string): Tree {
  const path = fileOf(text);
  const world = generated.test(valueOf(text, 'default_workflow_type') ?? '');
  const taskset = world
    ? {
        storage_type: 'generated',
        task_count: 128,
        path: null,
        format: { prompt_key: 'prompt', response_key: 'response' },
      }
    : { path };
  const learnsFromRows = /^ {2}algorithm_type: (?:sft|dpo)/m.test(text);
  const isBench = /^mode: bench/m.test(text);
  const address = ownAddress(name);
  const judged = /^ {2}auxiliary_models:\n {4}- /m.test(text) && !/distill/.test(text);
  const graded = /api_or_hf_model/.test(text);
  return {
    checkpoint_root_dir: `runs/${name}`,
    model: { model_path: 'long' },
    buffer: {
      ...(learnsFromRows
        ? {}
        : {
            explorer_input: {
              ...(isBench ? {} : { taskset }),
              eval_tasksets: isBench ? [{ ...benchSet, path }] : [],
            },
          }),
      trainer_input: {
        experience_buffer: learnsFromRows
          ? { path }
          : /sqlite:|BUFFER_PATH/.test(text)
            ? { path: address }
            : {},
        ...(/sft_dataset:/.test(text)
          ? { auxiliary_buffers: { sft_dataset: { path: 'answers.jsonl' } } }
          : {}),
      },
    },
    ...(graded ? { data_processor: { task_pipeline: { inputs: [] } } } : {}),
    ...(judged || graded
      ? {
          explorer: {
            auxiliary_models: [
              {
                model_path: 'judge',
                base_url: '${oc.env:OPENAI_BASE_URL}',
                api_key: '${oc.env:OPENAI_API_KEY}',
                ...(graded ? { name: valueOf(text, 'api_or_hf_model') } : {}),
              },
            ],
          },
        }
      : {}),
    monitor: { monitor_type: [] },
  };
}

const benchSet = { name: 'gsm8k_eval', format: { prompt_key: 'question', response_key: 'answer' } };

/** Arguments that bound the turns of a workflow. */
const turns: readonly (readonly [workflow: RegExp, args: Tree])[] = [
  [/alfworld|intercode/, { max_env_steps: 2 }],
  [/frozen_?lake/i, { agent_max_steps: 2 }],
  [/agentscope|as_react|email/, { max_turns: 2 }],
];

/** Overrides that shrink an example to two steps of a few short calls, on top of its replacements. */
export function sizes(text: string, replaced: Tree): Tree {
  const workflow = valueOf(text, 'default_workflow_type') ?? '';
  const workflow_args = turns.find(([pattern]) => pattern.test(workflow))?.[1] ?? {};
  const reward_fn_args = /max_response_length/.test(text)
    ? { max_response_length: 4, cache_length: 2 }
    : {};
  const rollout_args = /max_tokens:/.test(text) ? { max_tokens: 4 } : {};
  const runs = Number(valueOf(text, 'repeat_times') ?? 1);
  const buffer = replaced['buffer'] as Tree;
  const input = buffer['explorer_input'] as Tree | undefined;
  const taskset = input?.['taskset'] as Tree | undefined;
  const rows = /expert_data_ratio/.test(text) ? 6 : 4;
  return {
    ...replaced,
    name: 'small',
    ...(runs > 1
      ? {
          algorithm: {
            repeat_times: 2,
            ...(/std_threshold/.test(text) ? { advantage_fn_args: { std_threshold: null } } : {}),
          },
        }
      : {}),
    model: { model_path: 'long', max_response_tokens: 4, threads: 1 },
    buffer: {
      ...buffer,
      batch_size: 2,
      train_batch_size: runs > 1 ? rows : 2,
      total_steps: 2,
      ...(taskset === undefined
        ? {}
        : {
            explorer_input: {
              ...input,
              taskset: { ...taskset, workflow_args, reward_fn_args, rollout_args },
            },
          }),
    },
    explorer: {
      ...(replaced['explorer'] as Tree | undefined),
      eval_on_startup: false,
      eval_interval: 1000,
    },
    synchronizer: { sync_interval: 1 },
    trainer: { save_interval: 1000 },
  };
}
