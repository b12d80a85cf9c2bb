import path from 'node:path';
import { defineWorkflow } from '@trinity-rft/workflow';
import { beforeAll, describe, expect, it } from 'vitest';
import { runHere } from './support/run-here.js';
import { metricLines } from './support/run-record.js';
import { createWideModel } from './support/wide-model.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
  await createWideModel(workspace, 'wide');
});

const schema = {
  type: 'object',
  properties: { digit: { enum: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] }, sure: { type: 'boolean' } },
  required: ['digit'],
  additionalProperties: false,
};
const tool = { type: 'function', function: { name: 'report', parameters: schema } } as const;

interface Report {
  readonly digit: number;
  readonly sure?: boolean;
}

/**
 * Answers of the model to requests that enforce a JSON schema, one per API. The untrained model
 * would not follow the schema otherwise.
 */
const written: string[] = [];
const reporting = defineWorkflow({
  name: 'reporting',
  run: async ({ task, model }) => {
    const client = model.openaiClient();
    const content = String(task.rawTask['question']);
    const messages = [{ role: 'user' as const, content }];
    const format = { type: 'json_schema', json_schema: { name: 'report', schema } } as const;
    const answer = await client.chat.completions.create({
      model: model.modelPath,
      messages,
      response_format: format,
    });
    const call = await client.chat.completions.create({
      model: model.modelPath,
      messages,
      tools: [tool],
      tool_choice: 'required',
    });
    const response = await client.responses.create({
      model: model.modelPath,
      input: content,
      text: { format: { type: 'json_schema', name: 'report', schema } },
    });
    const forced = call.choices[0]!.message.tool_calls?.[0];
    const texts = [
      answer.choices[0]!.message.content ?? '',
      forced?.type === 'function' ? forced.function.arguments : '',
      response.output_text,
    ];
    written.push(...texts);
    return {
      reward: texts.filter(
        (text) => (JSON.parse(text) as Report).digit === Number(task.rawTask['answer']),
      ).length,
    };
  },
});

const options: Tree = {
  model: { model_path: 'wide', max_prompt_tokens: 900, max_response_tokens: 120 },
  buffer: {
    total_steps: 1,
    explorer_input: { default_workflow_type: 'reporting', eval_tasksets: [] },
  },
};
const config = (name: string, constrained: boolean): string =>
  workspace.config(`${name}.yaml`, { name }, options, {
    explorer: { constrained_decoding: constrained, rollout_model: { tool_call_parser: 'hermes' } },
  });

describe('constrained decoding', () => {
  it(
    'keeps every answer and call to the form that was asked for, and trains on what was sampled',
    { timeout: 240_000 },
    async () => {
      const { error, summary } = await runHere(workspace, config('forced', true), {
        workflows: [reporting],
      });
      expect(error).toBeUndefined();
      expect(summary).toBeDefined();
      expect(written).toHaveLength(48);
      for (const text of written) {
        const { digit, sure, ...rest } = JSON.parse(text) as Report;
        expect([digit >= 0 && digit <= 9, typeof sure, rest]).toEqual([
          true,
          sure === undefined ? 'undefined' : 'boolean',
          {},
        ]);
      }
      const lines = metricLines(path.join(workspace.root, 'runs/tests/forced'));
      const explored = lines.find(({ role }) => role === 'explorer')!.metrics;
      expect(explored).toMatchObject({ 'rollout/model/constrained/mean': 3 });
      expect(explored).not.toHaveProperty('rollout/model/unconstrained/mean');
      expect(lines.some(({ role }) => role === 'trainer')).toBe(true);
    },
  );

  it('is off unless it is asked for', { timeout: 240_000 }, async () => {
    written.length = 0;
    await runHere(workspace, config('free', false), { workflows: [reporting] });
    expect(written.every((text) => text.startsWith('{"digit"'))).toBe(false);
  });
});
