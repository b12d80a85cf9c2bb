/** A run whose engine, store, environment and monitor are those of this folder. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { createModel, run, standardTerminal } from '@trinity-rft/launcher';
import { bigramEngine } from './engine.ts';
import { moduleGames } from './environment.ts';
import { csvMonitor } from './monitor.ts';
import { journalRows } from './store.ts';

/**
 * Trains in `folder`, and writes metrics to `runs/Trinity-RFT/own-parts/monitor/metrics.csv` there.
 */
export async function train(folder: string, terminal = standardTerminal()) {
  await createModel({
    directory: path.join(folder, 'model'),
    tokenizer: { characters: '0123456789=\n' },
    seed: 1,
  });
  const module = path.join(import.meta.dirname, 'lucky-digit.mjs');
  const taskset = {
    name: 'digits',
    storage_type: 'generated',
    task_count: 64,
    workflow_args: { environment: 'module_games', environment_args: { module } },
  };
  const configPath = path.join(folder, 'own-parts.yaml');
  writeFileSync(
    configPath,
    JSON.stringify({
      name: 'own-parts',
      checkpoint_root_dir: path.join(folder, 'runs'),
      model: {
        model_path: path.join(folder, 'model'),
        max_prompt_tokens: 16,
        max_response_tokens: 3,
      },
      algorithm: { algorithm_type: 'grpo', repeat_times: 8, optimizer: { lr: 0.3 } },
      buffer: {
        batch_size: 8,
        total_steps: 30,
        trainer_input: {
          experience_buffer: { storage_type: 'sql', path: path.join(folder, 'journal.jsonl') },
        },
        explorer_input: { default_workflow_type: 'environment_workflow', taskset },
      },
      trainer: { trainer_type: 'bigram_table' },
    }),
  );
  return run({
    configPath,
    terminal,
    engines: [bigramEngine],
    environments: [moduleGames],
    monitors: [csvMonitor],
    openRows: journalRows,
  });
}

if (process.argv[1] === import.meta.filename) await train(process.cwd());
