/**
 * Generates the `README.md` (model card) of a Hugging Face folder: front matter, evaluation
 * results, and how the model was trained.
 */
import type { EvaluationScore } from '@trinity-rft/local';
import { stringify } from 'yaml';

export interface CardFacts {
  readonly name: string;
  /** Hub id of the model that training started from; undefined if the model is not on the hub. */
  readonly base: string | undefined;
  /** Licence of the base model. If it is undefined, the card names no licence. */
  readonly license: string | undefined;
  readonly relation: 'finetune' | 'adapter';
  readonly algorithm: string | undefined;
  readonly step: number | undefined;
  readonly evaluations: readonly EvaluationScore[];
}

/**
 * Returns the text of a model card. The front matter follows the hub's format; its field
 * `model-index` contains the evaluation results.
 */
export function modelCard(facts: CardFacts): string {
  const { name, base, license, relation, algorithm, step, evaluations } = facts;
  const results = evaluations.map(({ set, metric, value }) => ({
    task: { type: 'text-generation' },
    dataset: { name: set, type: set },
    metrics: [{ type: metric, name: metric, value }],
  }));
  const front = {
    ...(license !== undefined && { license }),
    ...(base !== undefined && { base_model: base, base_model_relation: relation }),
    library_name: relation === 'adapter' ? 'peft' : 'transformers',
    pipeline_tag: 'text-generation',
    tags: [
      'reinforcement-learning',
      'trinity-rft',
      ...(algorithm === undefined ? [] : [algorithm]),
    ],
    ...(results.length > 0 && { 'model-index': [{ name, results }] }),
  };
  const trained = [
    base === undefined ? 'Fine-tuned' : `Fine-tuned from \`${base}\``,
    algorithm === undefined ? '' : ` with ${algorithm}`,
    step === undefined ? '' : `, ${step} steps`,
    ' by [Trinity-RFT for TypeScript](https://github.com/agentscope-ai/trinity-rft-typescript).',
  ].join('');
  return `---\n${stringify(front)}---\n\n# ${name}\n\n${trained}\n${evaluationTable(evaluations)}`;
}

function evaluationTable(evaluations: readonly EvaluationScore[]): string {
  if (evaluations.length === 0) return '';
  const rows = evaluations.map(
    ({ set, metric, value, interval }) =>
      `| ${set} | ${metric} | ${value.toFixed(3)} | ${interval ? `${interval.low.toFixed(3)} to ${interval.high.toFixed(3)}` : ''} |`,
  );
  return `\n## Evaluation\n\n| Tasks | Metric | Mean | 95 % interval |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n`;
}
