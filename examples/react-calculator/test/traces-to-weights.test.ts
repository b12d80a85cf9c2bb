/** Tests the way from traces of an AI SDK agent to better weights: `@ai-sdk/otel`, import, supervised training. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { OpenTelemetry } from '@ai-sdk/otel';
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { importRows } from '@trinity-rft/import';
import { evaluateRun } from '@trinity-rft/inspect';
import { run } from '@trinity-rft/launcher';
import { isStepCount, tool, ToolLoopAgent } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { multiply } from '../frameworks/multiply.ts';

const example = path.join(import.meta.dirname, '..');
const practice = path.join(example, '../../apps/create/templates/practice');

type Answer = Awaited<ReturnType<MockLanguageModelV4['doGenerate']>>;

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** Stand-in for a large model, which always calls the calculator and repeats its result. */
const teacher = new MockLanguageModelV4({
  doGenerate: async ({ prompt }): Promise<Answer> => {
    const [question, , result] = prompt.map(({ content }) => content[0]);
    if (typeof result === 'object' && result.type === 'tool-result') {
      const text = result.output.type === 'text' ? result.output.value : 'error';
      const content = [{ type: 'text' as const, text }];
      return { content, finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [] };
    }
    const expression =
      typeof question === 'object' && question.type === 'text' ? question.text : '';
    const call = { toolCallId: 'call', toolName: 'calculator' };
    return {
      content: [{ type: 'tool-call', ...call, input: JSON.stringify({ expression }) }],
      finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
      usage,
      warnings: [],
    };
  },
});

/** Lets the agent answer, and returns its spans as lines of JSON. */
async function traces(questions: readonly string[]): Promise<string> {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const agent = new ToolLoopAgent({
    model: teacher,
    tools: {
      calculator: tool({
        description: 'Multiplies two whole numbers.',
        inputSchema: z.object({ expression: z.string().describe('for example 12*34') }),
        execute: ({ expression }) => multiply(expression),
      }),
    },
    stopWhen: isStepCount(3),
    telemetry: { integrations: new OpenTelemetry({ tracer: provider.getTracer('agent') }) },
  });
  for (const prompt of questions) await agent.generate({ prompt });
  return exporter
    .getFinishedSpans()
    .map((span) => {
      const { name, attributes, events, endTime, parentSpanContext } = span;
      const spanContext = span.spanContext();
      return JSON.stringify({ name, attributes, events, endTime, parentSpanContext, spanContext });
    })
    .join('\n');
}

const shared = {
  project: 'traces',
  checkpoint_root_dir: 'runs',
  seed: 42,
  model: { model_path: 'model', max_prompt_tokens: 96, max_response_tokens: 80 },
};

const training = {
  ...{ ...shared, name: 'sft', mode: 'train' },
  algorithm: { algorithm_type: 'sft', optimizer: { lr: 3e-3, lr_warmup_steps: 10 } },
  buffer: {
    train_batch_size: 32,
    total_steps: 80,
    trainer_input: {
      experience_buffer: {
        ...{ name: 'traces', storage_type: 'file', path: 'rows.jsonl' },
        format: { enable_concatenated_multi_turn: true },
        data_selector: { selector_type: 'shuffle' },
      },
    },
  },
};

/** Evaluates the weights of a folder. */
const evaluation = (name: string, model: string) => ({
  ...{ ...shared, name, mode: 'bench', model: { ...shared.model, model_path: model } },
  buffer: {
    explorer_input: {
      eval_tasksets: [
        {
          ...{ name: 'held_out', path: 'eval.jsonl' },
          format: { prompt_key: 'question', response_key: 'answer' },
          rollout_args: { temperature: 0 },
        },
      ],
      default_workflow_type: 'calculator_agent',
      default_reward_fn_type: 'right_number',
    },
  },
  explorer: {
    runner_per_model: 16,
    rollout_model: { enable_auto_tool_choice: true, tool_call_parser: 'hermes' },
  },
});

it('makes a model better at tasks that the traces do not hold', { tags: ['slow'] }, async () => {
  const cwd = mkdtempSync(path.join(tmpdir(), 'trinity-traces-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  for (const part of [practice, `${practice}-tasks`]) cpSync(part, cwd, { recursive: true });
  const questions = readFileSync(path.join(cwd, 'tasks.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .slice(0, 1000)
    .map((line) => (JSON.parse(line) as { question: string }).question);
  writeFileSync(path.join(cwd, 'spans.jsonl'), await traces(questions));
  const at = (file: string): string => path.join(cwd, file);
  const report = await importRows({ from: at('spans.jsonl'), output: at('rows.jsonl') });
  expect(report).toMatchObject({
    ...{ sources: ['otel'], as: 'sft', written: 1000, withTools: 1000, skipped: [] },
    roles: { user: 1000, assistant: 2000, tool: 1000 },
  });

  const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };
  const optionsOf = (settings: { readonly name: string }) => {
    const configPath = `${settings.name}.json`;
    writeFileSync(at(configPath), JSON.stringify(settings));
    return { configPath, cwd, terminal, pluginDirs: [path.join(example, 'plugins')] };
  };
  const shareRight = async (name: string, model: string): Promise<number> => {
    const options = { ...optionsOf(evaluation(name, model)), checkpoints: ['base'] };
    return (await evaluateRun(options)).sets[0]?.checkpoints[0]?.mean ?? NaN;
  };
  const before = await shareRight('before', 'model');
  const { checkpoint = '' } = await run(optionsOf(training));
  const after = await shareRight('after', checkpoint);
  expect(after).toBeGreaterThan(before + 0.3);
});
