/** Filters tasks by their difficulty or quality, which an auxiliary model scores. */
import { listArg, numberArg, stringArg, type ChatMessage, type RawTask } from '@trinity-rft/core';
import { fieldOf } from '@trinity-rft/core/internal';
import { defineTaskOperator, type TaskOperatorDefinition } from '../definition/operator.js';
import { isText } from './texts.js';

const largest = 5;
const form = `Think briefly, then end with a line of its own that holds only the grade as JSON: {"score": 3}`;

const difficultyPrompt = `You grade how difficult tasks are for a well-read person without aids, on a scale from 1 to ${largest}:
1: solved at sight; 2: one easy step; 3: several steps or special knowledge; 4: hard for somebody of the field; 5: few experts solve it.
Do not solve the task. ${form}`;

const qualityPrompt = `You grade tasks that a language model will practise on, on a scale from 1 to ${largest}:
1: unusable, or its answer is wrong; 2: important parts are missing or contradict each other; 3: usable with doubts; 4: clear, complete and right; 5: that, and well worth practising.
${form}`;

interface ScoreFilter {
  readonly name: string;
  /** Column for the score, which is above 0 and at most 1. */
  readonly column: string;
  readonly prompt: string;
}

function scoreFilter({ name, column, prompt }: ScoreFilter): TaskOperatorDefinition {
  return defineTaskOperator({
    name,
    auxiliaryModel: 'apiOrHfModel',
    adds: [column],
    args: {
      apiOrHfModel: stringArg('Name in explorer.auxiliary_models. Default: the first one.'),
      minScore: numberArg(0.5, { min: 0, max: 1 }, 'Smallest score that is kept.'),
      maxScore: numberArg(1, { min: 0, max: 1 }, 'Largest score that is kept.'),
      inputKeys: listArg('columns', isText, 'Columns that the model sees. Default: target_fields.'),
      fieldNames: listArg('names', isText, 'What they are called. Default: their own names.'),
      systemPrompt: stringArg('Instead of the built-in one; it has to ask for {"score": 1 to 5}.'),
      maxTokens: numberArg(undefined, { min: 1 }, 'Of an answer. Default: that of the model.'),
    },
    create:
      (args) =>
      async (rawTask, { fields, ask }) => {
        const {
          inputKeys,
          fieldNames,
          systemPrompt = prompt,
          minScore,
          maxScore,
          maxTokens,
        } = args;
        const keys = inputKeys.length > 0 ? inputKeys : fields;
        const answer = await ask(
          [
            { role: 'system', content: systemPrompt },
            { role: 'user', content: describe(rawTask, keys, fieldNames) },
          ] satisfies readonly ChatMessage[],
          { temperature: 0, maxTokens },
        );
        const score = readScore(answer);
        if (score === undefined)
          return { drop: 'an answer without a score', details: answer.slice(-200) };
        if (score < minScore || score > maxScore)
          return { drop: `score not within ${minScore} to ${maxScore}`, details: `${score}` };
        return { set: { [column]: score } };
      },
  });
}

const describe = (rawTask: RawTask, keys: readonly string[], names: readonly string[]): string =>
  keys
    .map((key, i) => {
      const value = fieldOf(rawTask, key);
      return `# ${names[i] ?? key}\n${typeof value === 'string' ? value : JSON.stringify(value)}`;
    })
    .join('\n\n');

/**
 * Returns the last score in the response, divided by the maximum score. Returns undefined if the
 * response has no score or one that is out of range.
 */
function readScore(answer: string): number | undefined {
  const last = [...answer.matchAll(/"score"\s*:\s*"?(\d+(?:\.\d+)?)"?/g)].at(-1)?.[1];
  const score = Number(last);
  return last === undefined || score < 1 || score > largest ? undefined : score / largest;
}

export const llmDifficultyScoreFilter = scoreFilter({
  name: 'llm_difficulty_score_filter',
  column: 'llm_difficulty_score',
  prompt: difficultyPrompt,
});

export const llmQualityScoreFilter = scoreFilter({
  name: 'llm_quality_score_filter',
  column: 'llm_quality_score',
  prompt: qualityPrompt,
});
