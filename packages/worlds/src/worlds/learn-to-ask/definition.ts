import { defineEnvironment, nativeEnvironment, rowsOfSplit } from '@trinity-rft/environment';
import { z } from 'zod';
import { playing, textAction } from '../shared/actions.js';
import { readRow } from '../shared/row.js';
import { drawCase, questionAbout, topicsOf } from './cases.js';

const argsSchema = z.strictObject({
  /** Topics of a case: 1: two, 2: four, 3: six. */
  level: z.int().min(1).max(3).default(2),
  /** 'strict': 0 to 1; 'fused': 0 to 4, as in Trinity-RFT. */
  scoring: z.enum(['strict', 'fused']).default('strict'),
});

const rowSchema = z.object({
  messages: z.array(z.object({ role: z.enum(['user', 'assistant']), content: z.string() })).min(1),
  decision_truth: z.enum(['continue', 'stop']),
  info_truth: z.array(z.string()).default([]),
});
type Row = z.infer<typeof rowSchema>;

/** The next question of a consultation, or its end, after Learn-to-Ask (arXiv:2510.25441). */
export const learnToAsk = defineEnvironment({
  name: 'learn_to_ask',
  description: 'Ask the next useful question of a consultation, or end it when all is known.',
  args: argsSchema,
  play: { maxTurns: 1, reward: 'sum' },
  open: ({ scoring }) =>
    nativeEnvironment(({ row }) => {
      const consultation = readRow(rowSchema, row, 'learn_to_ask');
      return {
        instructions,
        observation: transcriptOf(consultation),
        step: (action) => {
          const parts = partsOf(action.type === 'text' ? action.text.trim() : '', consultation);
          const reward = parts.decision * (1 + 2 * parts.content) + parts.format;
          return {
            observation: 'Noted.',
            reward: scoring === 'fused' ? reward : reward / 4,
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

const instructions = `You are a doctor's assistant. Read the consultation so far.
When something that the doctor needs to know is missing, ask one short question about it.
When all is known, write <stop /> and nothing else.`;

const transcriptOf = ({ messages }: Row): string =>
  messages
    .map(({ role, content }) => `${role === 'user' ? 'patient' : 'doctor'}: ${content}`)
    .join('\n');

/** From 0 to 1 each: stop or go on, what is asked, and in which form. */
function partsOf(answer: string, { decision_truth: decision, info_truth: missing }: Row) {
  const stops = answer.includes('<stop />');
  if (answer === '' || stops !== (decision === 'stop'))
    return { decision: 0, content: 0, format: 0 };
  if (stops) return { decision: 1, content: 1, format: answer === '<stop />' ? 1 : 0 };
  const isUseful = topicsOf(answer).some((topic) => missing.includes(topic));
  const isOneQuestion = answer.split('?').length === 2 && answer.endsWith('?');
  return { decision: 1, content: isUseful ? 1 : 0, format: isOneQuestion ? 1 : 0 };
}
