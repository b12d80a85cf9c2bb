// Creates the practice model of new projects, which mostly guesses products and sometimes calls its
// calculator, and its tasks.
//   pnpm practice-model    writes apps/create/templates/practice and practice-tasks; the same seed gives the same files
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { demonstrations, splitProblems } from '../examples/react-calculator/src/problems.ts';
import { createRuntime } from '../packages/core/src/index.ts';
import { createModel, run, standardTerminal } from '../packages/launcher/src/index.ts';

const target = join(import.meta.dirname, '../apps/create/templates/practice');
const work = mkdtempSync(join(tmpdir(), 'trinity-practice-'));
const runtime = createRuntime({ seed: 42 });
const { train, fresh } = splitProblems(runtime.random('problems'), 128);

const writeRows = (file: string, rows: readonly object[]): void =>
  writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));

/** True for model files; excludes the optimizer state and the manifest that lists the optimizer state. */
const isOfTheModel = (file: string): boolean =>
  !['optimizer', 'manifest.json'].includes(basename(file));

const printable = Array.from({ length: 95 }, (_, i) => String.fromCodePoint(32 + i)).join('');

const config = `
project: practice
name: warmup
checkpoint_root_dir: runs
mode: train
seed: 42
model: { model_path: model, max_prompt_tokens: 48, max_response_tokens: 16 }
algorithm:
  algorithm_type: sft
  optimizer: { lr: 3.0e-3, lr_warmup_steps: 30, betas: [0.9, 0.95], weight_decay: 0 }
buffer:
  train_batch_size: 128
  total_steps: 300
  trainer_input:
    experience_buffer:
      name: demonstrations
      storage_type: file
      path: demonstrations.jsonl
      format: { prompt_type: messages, messages_key: messages, enable_concatenated_multi_turn: true }
      data_selector: { selector_type: shuffle }
`;

try {
  await createModel({
    directory: join(work, 'model'),
    tokenizer: {
      characters: `${printable}\n`,
      // The JSON of a call is a few tokens, so the model only has to learn when to call.
      words: ['{"name": "calculator", "arguments": {"expression": "', '"}}', 'error'],
      markers: ['<tool_call>', '</tool_call>'],
    },
    // 256 positions leave room for a few sentences of instructions.
    config: { hiddenSize: 64, layers: 2, heads: 4, kvHeads: 2, headDim: 16, maxPositions: 256 },
    initializerRange: 0.08,
    seed: runtime.seedFor('model'),
  });
  writeRows(
    join(work, 'demonstrations.jsonl'),
    demonstrations(train, 0.2, runtime.random('demonstrations')),
  );
  writeFileSync(join(work, 'warmup.yaml'), config);
  const { checkpoint = '' } = await run({
    configPath: 'warmup.yaml',
    cwd: work,
    terminal: standardTerminal(),
  });
  rmSync(target, { recursive: true, force: true });
  cpSync(checkpoint, join(target, 'model'), { recursive: true, filter: isOfTheModel });
  writeRows(join(`${target}-tasks`, 'tasks.jsonl'), train.slice(0, 1024));
  writeRows(join(`${target}-tasks`, 'eval.jsonl'), fresh);
} finally {
  rmSync(work, { recursive: true });
}
