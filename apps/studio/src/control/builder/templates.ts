/** Templates of configurations, one per common task. */
import type { ConfigTemplate } from '../interface/index.js';

const names = (name: string): string =>
  `project: studio
name: ${name}
checkpoint_root_dir: runs
seed: 42
`;

const model = `
model:
  model_path: ./model # a Hugging Face folder or hub id: llama, qwen2, qwen3
  max_prompt_tokens: 96
  max_response_tokens: 64
`;

const tasks = `  explorer_input:
    taskset:
      name: tasks
      path: ./tasks.jsonl # one task a line: {"question": "...", "answer": "..."}
      format: { prompt_key: question, response_key: answer }
      data_selector: { selector_type: shuffle }
`;

const learning = (lr: string, comment: string): string => `
algorithm:
  algorithm_type: grpo
  repeat_times: 8 # answers to each task, whose rewards are compared
  optimizer: { lr: ${lr} } # ${comment}
  kl_loss_fn: none

buffer:
  batch_size: 16 # tasks of a step
  total_steps: 100
${tasks}    default_workflow_type: simple_workflow # asks once; an agent of yours is a plugin
    default_reward_fn_type: exact_match_reward

explorer: { runner_per_model: 16 }
synchronizer: { sync_method: memory, sync_interval: 1 }
trainer: { save_interval: 20 }
`;

const rows = (columns: string, types: string): string => `  trainer_input:
    experience_buffer:
      name: rows
      storage_type: file
      path: ./rows.jsonl # one row a line: ${columns}
      format: { ${types} }
      data_selector: { selector_type: shuffle }
`;

export const templates: ConfigTemplate[] = [
  {
    name: 'grpo',
    title: 'Learn from rewards (GRPO)',
    about: 'Several answers to each task, graded by a rule and compared.',
    needs: 'a model, tasks with their right answers.',
    text: names('grpo') + model + learning('1.0e-6', 'of all weights; a tiny model takes 1e-3'),
  },
  {
    name: 'lora',
    title: 'Learn from rewards, an adapter only (LoRA)',
    about: 'The same with an adapter of rank 16, which takes less memory.',
    needs: 'a model, tasks with their right answers.',
    text:
      names('lora') +
      `${model}  lora_configs:
    - { lora_rank: 16, lora_alpha: 32, target_modules: all-linear }
` +
      learning('1.0e-4', 'of an adapter'),
  },
  {
    name: 'sft',
    title: 'Imitate worked examples (SFT)',
    about: 'Questions with good answers: a first step before rewards.',
    needs: 'a model, questions with good answers. Nothing is sampled.',
    text: `mode: train
${names('sft')}${model}
algorithm:
  algorithm_type: sft
  optimizer: { lr: 1.0e-5, lr_warmup_steps: 10 }

buffer:
  train_batch_size: 16
  total_steps: 100
${rows('{"question": "...", "answer": "..."}', 'prompt_type: plaintext, prompt_key: question, response_key: answer')}
trainer: { save_interval: 50 }
`,
  },
  {
    name: 'dpo',
    title: 'Learn from preferences (DPO)',
    about: 'Pairs of a better and a worse answer.',
    needs: 'a model, pairs of answers. Nothing is sampled.',
    text: `mode: train
${names('dpo')}${model}
algorithm:
  algorithm_type: dpo
  optimizer: { lr: 5.0e-7, lr_warmup_steps: 10 }

buffer:
  train_batch_size: 16
  total_steps: 100
${rows('{"prompt": "...", "chosen": "...", "rejected": "..."}', 'prompt_type: plaintext, prompt_key: prompt, chosen_key: chosen, rejected_key: rejected')}
trainer: { save_interval: 50 }
`,
  },
  {
    name: 'serve',
    title: 'Train behind a product (serve)',
    about: 'An OpenAI server that learns from feedback on its answers.',
    needs: 'a model, a product that sends it requests. It runs until you stop it.',
    text: `mode: serve
${names('serve')}${model}
algorithm:
  algorithm_type: grpo
  repeat_times: 8
  optimizer: { lr: 1.0e-6 }

buffer: { train_batch_size: 8 }
trainer: { save_interval: 1 }
`,
  },
  {
    name: 'bench',
    title: 'Measure a model (bench)',
    about: 'The reward on held-out tasks, without training.',
    needs: 'a model, tasks with their right answers. It ends after one pass over them.',
    text: `mode: bench
${names('bench')}${model}
algorithm: { algorithm_type: grpo }

buffer:
  batch_size: 16
  explorer_input:
    eval_tasksets:
      - name: held_out
        path: ./tasks.jsonl # one task a line: {"question": "...", "answer": "..."}
        format: { prompt_key: question, response_key: answer }
        rollout_args: { temperature: 0 }
    default_workflow_type: simple_workflow
    default_reward_fn_type: exact_match_reward

explorer: { runner_per_model: 16 }
`,
  },
];
