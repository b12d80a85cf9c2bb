import { TaskError } from '@trinity-rft/core';
import {
  defineEnvironment,
  nativeEnvironment,
  rowsOfSplit,
  type Judge,
} from '@trinity-rft/environment';
import { z } from 'zod';
import { playing, textAction } from '../shared/actions.js';
import { readRow } from '../shared/row.js';
import { gradeQuestion, type QuestionScores } from './judge.js';
import { drawCase, questionAbout, topicsOf } from './cases.js';

const argsSchema = z.strictObject({
  /** Difficulty, by number of relevant topics in a case. 1: two; 2: four; 3: six. */
  level: z.int().min(1).max(3).default(2),
  /**
   * Reward, which is 0 if the decision to stop or continue is wrong. 'strict': the fused reward
   * divided by 4, from 0 to 1. The others are Trinity-RFT's: 'fused' (0 to 4) and 'sum' (0 to 3)
   * combine the scores of the decision and the question; 'content' (0 to 3) leaves out the score of
   * the decision; 'decision' (0 to 4) leaves out the score of the question's content.
   */
  scoring: z.enum(['strict', 'fused', 'sum', 'content', 'decision']).default('strict'),
});

const rowSchema = z.object({
  messages: z.array(z.object({ role: z.enum(['user', 'assistant']), content: z.string() })).min(1),
  decision_truth: z.enum(['continue', 'stop']).default('continue'),
  info_truth: z.union([z.array(z.string()), z.string().transform((text) => [text])]).default([]),
});
type Row = z.infer<typeof rowSchema>;

/**
 * Environment in which the policy is a doctor who asks the patient the next question or ends the
 * consultation, modelled on Learn-to-Ask (arXiv:2510.25441).
 */
export const learnToAsk = defineEnvironment({
  name: 'learn_to_ask',
  description: 'Ask the next useful question of a consultation, or end it when all is known.',
  args: argsSchema,
  rows: rowSchema,
  play: { maxTurns: 1, reward: 'sum' },
  judged: true,
  open: ({ scoring }) =>
    nativeEnvironment(({ row, judge }) => {
      const consultation = readRow(rowSchema, row, 'learn_to_ask');
      if (judge === undefined) assertWordsKnow(consultation);
      const partsOf = partsBy(judge);
      return {
        instructions: scoring === 'content' ? asking : `${asking}\n${ending}`,
        observation: transcriptOf(consultation),
        step: async (action) => {
          const answer = action.type === 'text' ? action.text.trim() : '';
          const parts = await partsOf(answer, consultation);
          return {
            observation: 'Noted.',
            reward: rewardOf[scoring](parts),
            done: true,
            metrics: { decision: parts.decision, content: parts.content, format: parts.format },
          };
        },
        stateKey: () => '',
      };
    }),
  tasks: (range, { level }) =>
    rowsOfSplit(
      range,
      (seed) => ({ ...drawCase(level * 2, seed) }),
      ({ messages }) => JSON.stringify(messages),
    ),
  solver: ({ row }) => {
    const { decision_truth: decision, info_truth: missing } = readRow(
      rowSchema,
      row,
      'learn_to_ask',
    );
    return playing([textAction(decision === 'stop' ? '<stop />' : questionAbout(missing[0]))]);
  },
});

const asking = `You are a doctor's assistant. Read the consultation so far.
When something that the doctor needs to know is missing, ask one short question about it.`;
const ending = 'When all is known, write <stop /> and nothing else.';

const transcriptOf = ({ messages }: Pick<Row, 'messages'>): string =>
  messages
    .map(({ role, content }) => `${role === 'user' ? 'patient' : 'doctor'}: ${content}`)
    .join('\n');

/**
 * Scores from 0 to 1 for the decision to stop or continue, and for the content and format of a
 * question.
 */
interface Parts extends QuestionScores {
  readonly decision: number;
}

const fused = ({ decision, content, format }: Parts): number =>
  decision * (1 + 2 * content) + format;

const rewardOf: Readonly<Record<z.infer<typeof argsSchema>['scoring'], (parts: Parts) => number>> =
  {
    strict: (parts) => fused(parts) / 4,
    fused,
    sum: ({ decision, content, format }) => decision + content + format,
    content: ({ content, format }) => 2 * content + format,
    decision: ({ decision, format }) => 3 * decision + format,
  };

/**
 * Creates the function that scores an answer. All scores are 0 if the answer is empty or the
 * decision to stop or continue is wrong. Only a question needs grading; a right decision to stop
 * has content score 1.
 */
const partsBy =
  (judge: Judge | undefined) =>
  async (answer: string, row: Row): Promise<Parts> => {
    const stops = answer.includes('<stop />');
    if (answer === '' || stops !== (row.decision_truth === 'stop'))
      return { decision: 0, content: 0, format: 0 };
    if (stops) return { decision: 1, content: 1, format: answer === '<stop />' ? 1 : 0 };
    return { decision: 1, ...(await scoresOf(answer, row, judge)) };
  };

async function scoresOf(
  answer: string,
  { messages, info_truth: missing }: Row,
  judge: Judge | undefined,
): Promise<QuestionScores> {
  if (judge !== undefined) {
    const asked = [...messages, { role: 'assistant' as const, content: answer }];
    return judge.ask(gradeQuestion(transcriptOf({ messages: asked }), missing));
  }
  const isUseful = topicsOf(answer).some((topic) => missing.includes(topic));
  const isOneQuestion = answer.split('?').length === 2 && answer.endsWith('?');
  return { content: isUseful ? 1 : 0, format: isOneQuestion ? 1 : 0 };
}

/**
 * Checks that a row can be graded without a judge. Grading without a judge compares keywords, which
 * exist only for the topics of generated cases.
 * @throws TaskError if the row has another topic
 */
function assertWordsKnow({ decision_truth: decision, info_truth: missing }: Row): void {
  const other = missing.find((topic) => questionAbout(topic) === '');
  if (other === undefined || decision === 'stop') return;
  throw new TaskError(
    `The info_truth of a row is ${JSON.stringify(other)}. Without a judge, learn_to_ask compares words, and knows those of generated cases alone: set storage_type: generated, or add a judge to explorer.auxiliary_models.`,
    { code: 'TASK_ROW' },
  );
}
