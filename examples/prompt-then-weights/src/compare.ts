/** Tunes first the prompt and then the weights, and compares both on held-out rows. */
import type { Terminal } from '@trinity-rft/launcher';
import { loadModel } from '@trinity-rft/local';
import {
  comparePromptAndWeights,
  tune,
  tunePrompt,
  type PromptAndWeightsReport,
} from '@trinity-rft/tuner';
import { scriptedModel } from '@trinity-rft/workflow';
import { baseComponents, basePrompt, judge, modelFields, solve, type Problem } from './agent.ts';

export interface CompareOptions {
  readonly modelPath: string;
  /** Folder that contains `runs/sums/`. */
  readonly cwd: string;
  /** Explore steps of each training. @default 40 */
  readonly totalSteps?: number;
  readonly terminal: Terminal;
}

const [groupSize, batchSize] = [8, 32];

export async function compare({
  modelPath,
  cwd,
  totalSteps = 40,
  terminal,
}: CompareOptions): Promise<PromptAndWeightsReport> {
  const [promptAt, prompt] = [Date.now(), await betterPrompt(modelPath, cwd)];
  const promptMs = Date.now() - promptAt;
  const train = async (name: string, systemPrompt: string) => {
    const startMs = Date.now();
    const { checkpoint } = await tune({
      workflowFunc: (input) => solve({ ...input, systemPrompt, components: {} }),
      judgeFunc: judge,
      experimentName: name,
      trainDataset: { path: 'runs/sums', split: 'train', totalSteps },
      model: modelFields(modelPath),
      algorithm: { groupSize, batchSize, learningRate: 1.5e-3 },
      cwd,
      terminal,
    });
    const spent = { calls: totalSteps * batchSize * groupSize, seconds: secondsSince(startMs) };
    return { model: modelFields(checkpoint ?? modelPath), spent };
  };
  const weights = await train('weights-only', basePrompt);
  const both = await train('both', prompt.text);
  return comparePromptAndWeights({
    workflowFunc: solve,
    judgeFunc: judge,
    evalDataset: { path: 'runs/sums', split: 'test' },
    base: { components: baseComponents, model: modelFields(modelPath) },
    prompt: { system: prompt.text },
    weights: weights.model,
    both: both.model,
    // Example prices of a hosted model; the local model of this example costs only time.
    prices: { prefill: 0.1, sample: 0.4 },
    tuning: {
      'prompt only': { calls: prompt.calls, seconds: promptMs / 1000 },
      'weights only': weights.spent,
      both: both.spent,
    },
    cwd,
  });
}

const secondsSince = (startMs: number): number => (Date.now() - startMs) / 1000;

/** Stand-in for a model that writes prompts: two proposals in turn, the first of which makes the agent worse. */
function proposer() {
  const proposals = [' Be quick.', ' Check every digit.'];
  let asked = 0;
  return scriptedModel({
    answers: () => `<prompt>${basePrompt}${proposals[asked++ % proposals.length]}</prompt>`,
  });
}

async function betterPrompt(modelPath: string, cwd: string) {
  const model = await loadModel(modelPath, { seed: 1 });
  try {
    const tuned = await tunePrompt({
      workflowFunc: async ({ task, systemPrompt }: { task: Problem; systemPrompt: string }) => {
        const answer = await model.chat(
          [
            { role: 'system', content: systemPrompt },
            { role: 'user', content: task.question },
          ],
          { max_tokens: 6 },
        );
        return { response: answer.text };
      },
      judgeFunc: judge,
      initSystemPrompt: basePrompt,
      trainDataset: { path: 'runs/sums', split: 'train', totalSteps: 120 },
      config: {
        proposer: proposer(),
        batchSize: 20,
        maxCalls: 300,
        evalNumThreads: 1,
      },
      cwd,
    });
    return { text: tuned.prompt, calls: tuned.metrics['calls'] ?? 0 };
  } finally {
    await model.close();
  }
}
