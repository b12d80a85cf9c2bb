import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { createModelFolder } from '@trinity-rft/engine-onnx';
import { loadTokenizer, readTokenizerFiles, writeTokenizerFiles } from '@trinity-rft/chat';
import { auxiliaryModel, defineWorkflow } from '@trinity-rft/workflow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runHere } from './support/run-here.js';
import { metricLines, usedRows, weightsDigest } from './support/run-record.js';
import { createWorkspace, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
  await createJudge(path.join(workspace.root, 'judge'));
});
const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);

/** Like the trained model, but untrained in another way and with room for a judge's prompt. */
async function createJudge(directory: string): Promise<void> {
  const from = path.join(workspace.root, 'model');
  const { vocabularySize, eosTokenIds } = await loadTokenizer(from);
  const shape = { hiddenSize: 32, layers: 1, heads: 2, kvHeads: 1, headDim: 16 };
  const config = { ...shape, vocabSize: vocabularySize, maxPositions: 2048, eosTokenIds };
  await createModelFolder({ directory, seed: 2, config });
  await writeTokenizerFiles(directory, await readTokenizerFiles(from));
}

/** The judge's digits are the reward, so that groups differ; it is asked by name, by place and through its client. */
const judged = defineWorkflow({
  name: 'judged',
  run: async ({ task, model, auxiliaryModels, signal }) => {
    const [answer] = await model.chat([{ role: 'user', content: String(task.rawTask['question']) }], { signal });
    const judge = auxiliaryModel(auxiliaryModels, 'judge');
    const [verdict] = await judge.chat([{ role: 'user', content: answer!.responseText || '0' }], { signal, maxTokens: 8, temperature: 1 });
    const client = auxiliaryModel(auxiliaryModels, 0).openaiClient();
    const messages = [{ role: 'user' as const, content: '1+1=' }];
    const { choices } = await client.chat.completions.create({ model: judge.modelPath, messages, max_tokens: 4 });
    const digits = `${verdict!.responseText}${choices[0]!.message.content ?? ''}`.replaceAll(/\D/g, '').length;
    return { reward: digits, metrics: { version: judge.policyVersion, models: auxiliaryModels.size } };
  },
});

const withJudge: Tree = {
  buffer: { total_steps: 3, explorer_input: { default_workflow_type: 'judged' } },
  explorer: { auxiliary_models: [{ name: 'judge', model_path: 'judge', max_prompt_tokens: 1500, max_response_tokens: 16 }] },
};

describe('an auxiliary model of the embedded engine', () => {
  it('judges a whole run, is not trained, and leaves equal runs equal', { timeout: 60_000 }, async () => {
    for (const name of ['one', 'two']) {
      const { error } = await runHere(workspace, workspace.config(`${name}.yaml`, { name }, withJudge), { workflows: [judged] });
      expect(error).toBeUndefined();
    }
    const lines = metricLines(job('one'));
    expect(lines).toEqual(metricLines(job('two')));
    expect(weightsDigest(job('one'))).toBe(weightsDigest(job('two')));
    const [first] = lines.filter(({ role }) => role === 'explorer');
    expect(first!.metrics).toMatchObject({ 'rollout/version/mean': 0, 'rollout/models/mean': 1 });
    // One experience per run: what the judge said is none.
    expect(usedRows(path.join(job('one'), 'buffer/experience_buffer.db'))).toHaveLength(3 * 4 * 4);
  });
});
