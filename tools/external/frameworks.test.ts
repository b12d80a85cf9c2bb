/**
 * The agents of all frameworks with a real language model: SmolLM2-135M-Instruct with its own
 * tokenizer, and a template that supports tools.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  canRun,
  frameworks,
  runFramework,
  type FrameworkRun,
} from '../../examples/react-calculator/src/frameworks.ts';
import { demonstrations, splitProblems } from '../../examples/react-calculator/src/problems.ts';
import { exactnessOf } from '../../examples/react-calculator/src/short-runs.ts';
import { findModel } from '../../examples/smollm2/test/support/model.ts';
import { createRuntime } from '../../packages/core/src/index.ts';

const template = path.join(import.meta.dirname, '../../examples/smollm2/agent/template.jinja');
const directory = path.join(tmpdir(), `trinity-speaking-${process.pid}`);
beforeAll(() => void mkdirSync(directory, { recursive: true }));
const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };
let missing = '';
let checkpoint = '';

type Configuration = Parameters<NonNullable<FrameworkRun['change']>>[0];

const model = (modelPath: string): Readonly<Record<string, unknown>> => ({
  model_path: modelPath,
  chat_template_path: template,
  lora_configs: [{ lora_rank: 8, lora_alpha: 8, target_modules: 'all-linear' }],
  max_prompt_tokens: 320,
  max_response_tokens: 48,
});

function shorten(config: Configuration, modelPath: string): void {
  config.setIn(['model'], config.createNode(model(modelPath)));
  config.deleteIn(['buffer', 'explorer_input', 'eval_tasksets']);
}

function writeData(): void {
  const random = createRuntime({ seed: 1 }).random('problems');
  const { train, fresh } = splitProblems(random, 16);
  const rows = { demonstrations: demonstrations(train.slice(0, 200), 1, random), tasks: fresh };
  const folder = path.join(directory, 'runs', 'data');
  mkdirSync(folder, { recursive: true });
  for (const [name, list] of Object.entries(rows)) {
    const lines = list.map((row) => `${JSON.stringify(row)}\n`);
    writeFileSync(path.join(folder, `${name}.jsonl`), lines.join(''));
  }
}

describe(
  'the agent of every framework on SmolLM2',
  { tags: ['external'], timeout: 900_000 },
  () => {
    beforeAll(async () => {
      const found = await findModel();
      if ('missing' in found) {
        ({ missing } = found);
        return;
      }
      writeData();
      // Trains the model on the format of calls, so that conversations have several turns.
      const warm = await runFramework({
        directory,
        name: 'warm',
        terminal,
        change: (config) => {
          shorten(config, found.file);
          config.deleteIn(['stages', 1]);
          config.setIn(['stages', 0, 'algorithm', 'optimizer', 'lr'], 1e-3);
          config.setIn(['stages', 0, 'algorithm', 'optimizer', 'lr_warmup_steps'], 0);
          config.setIn(['stages', 0, 'buffer', 'total_steps'], 12);
          config.setIn(['stages', 0, 'buffer', 'train_batch_size'], 8);
        },
      });
      checkpoint = warm.checkpoint ?? '';
    }, 1_800_000);
    afterAll(() => rmSync(directory, { recursive: true, force: true }));

    it.for(frameworks)('%s: no fork, and exact records', async (framework, { skip }) => {
      skip(missing !== '', missing);
      skip(!canRun(framework), 'this machine has no python3');
      const summary = await runFramework({
        framework,
        directory,
        name: framework,
        terminal,
        change: (config) => {
          shorten(config, checkpoint);
          config.deleteIn(['stages', 0]);
          config.setIn(['buffer', 'batch_size'], 2);
          config.setIn(['stages', 0, 'algorithm', 'repeat_times'], 2);
          config.deleteIn(['stages', 0, 'buffer']);
          config.setIn(['stages', 0, 'trainer', 'total_steps'], 1);
          config.setIn(['stages', 0, 'trainer', 'save_interval'], 1);
        },
      });
      expect(summary).toMatchObject({ interrupted: false, trainStep: 1 });
      const exactness = await exactnessOf(directory, framework);
      expect(exactness).toEqual(
        expect.objectContaining({ ok: true, forks: {}, continued: exactness.later }),
      );
      expect(exactness.later).toBeGreaterThan(0);
    });
  },
);
