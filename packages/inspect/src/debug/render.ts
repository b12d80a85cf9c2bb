/** Renders a debugged attempt as text for a terminal. */
import { tokenTexts } from '@trinity-rft/chat';
import { describeError, type Experience, type Metrics, uid } from '@trinity-rft/core';
import { redactText } from '@trinity-rft/core/support';
import type { RecordedFork } from '@trinity-rft/model';
import type { WorkflowDebugReport } from './report.js';
import type { Turn } from './turns.js';
import { visible } from './visible.js';

interface RenderOptions {
  /**
   * True to use escape codes that show context in grey and sampled tokens from green (likely) to
   * red (unlikely). False to put context into ⟦ ⟧.
   */
  readonly colour: boolean;
}

/**
 * Renders every experience with its tokens, then the error if there is one. Escapes control
 * characters. Ends with a line break.
 */
export function renderWorkflowDebug(
  report: WorkflowDebugReport,
  { colour }: RenderOptions,
): string {
  const {
    task,
    model,
    experiences,
    metrics,
    error,
    notices,
    strayErrors,
    turns,
    forks,
    seconds,
    reward,
    servedAt,
    outputDirectory,
    files,
  } = report;
  const paint = colour ? coloured : plain;
  const where = `${task.index.taskset} row ${task.index.row}`;
  const parts = [
    paint.bold(
      `Workflow ${task.workflow} on ${where}${servedAt === undefined ? '' : ' (served model)'}`,
    ),
    `Model: ${visible(model)}`,
    ...(notices.length > 0 ? [visible(redactText(notices.join('\n')))] : []),
    ...experiences.map((experience, i) => renderExperience(experience, i, report, paint)),
    ...forks.map((fork) => renderFork(fork, paint)),
    ...strayErrors.map((line) => paint.problem(visible(redactText(line)))),
    ...(error ? [renderFailure(error, turns, paint)] : []),
    `${turns.length} calls of the model in ${seconds.toFixed(2)} s${reward === undefined ? '' : `, reward ${number(reward)}`}. Metrics: ${listed(metrics)}`,
    `Written to ${outputDirectory}: ${files.join(', ')}`,
  ];
  return `${parts.join('\n\n')}\n`;
}

interface Paint {
  readonly bold: (text: string) => string;
  readonly problem: (text: string) => string;
  readonly context: (text: string) => string;
  readonly sampled: (text: string, logprob: number) => string;
}

const plain: Paint = {
  bold: (text) => text,
  problem: (text) => text,
  context: (text) => `⟦${text}⟧`,
  sampled: (text) => text,
};

/** Minimum probability of a token for each colour, as an index in the 256-colour palette. */
const heat = [
  [0.9, 34],
  [0.5, 106],
  [0.1, 214],
  [0, 196],
] as const;

const esc = (code: string, text: string): string =>
  text
    .split('\n')
    .map((line) => (line === '' ? '' : `\u001b[${code}m${line}\u001b[0m`))
    .join('\n');

const coloured: Paint = {
  bold: (text) => esc('1', text),
  problem: (text) => esc('31', text),
  context: (text) => esc('90', text),
  sampled: (text, logprob) =>
    esc(`38;5;${heat.find(([least]) => Math.exp(logprob) >= least)?.[1] ?? 196}`, text),
};

function renderExperience(
  experience: Experience,
  index: number,
  { tokenizer }: WorkflowDebugReport,
  paint: Paint,
): string {
  const { eid, promptLength, tokens, policyVersion, reward, truncateStatus, info } = experience;
  const texts = tokenTexts(tokenizer, tokens).map(visible);
  const facts = {
    reward: reward === undefined ? 'none' : number(reward),
    finish: typeof info['finishReason'] === 'string' ? info['finishReason'] : 'unknown',
    ...(truncateStatus && { truncated: truncateStatus }),
    ...(typeof info['fork'] === 'string' && { fork: info['fork'] }),
    'policy version': policyVersion,
    tokens: `${promptLength} + ${tokens.length - promptLength}`,
    'mean logprob': number(meanLogprob(experience)),
  };
  const head = `${paint.bold(`Experience ${index}: ${visible(uid(eid))}`)}\n${listed(facts)}`;
  const own = Object.keys(experience.metrics).length > 0 ? `\n${listed(experience.metrics)}` : '';
  return `${head}${own}\n${paint.context(texts.slice(0, promptLength).join(''))}${response(experience, texts, paint)}`;
}

/** Renders a response: consecutive context tokens as one piece, sampled tokens one by one. */
function response(
  { promptLength, actionMask, logprobs }: Experience,
  texts: readonly string[],
  paint: Paint,
): string {
  let [text, context] = ['', ''];
  for (const [i, token] of texts.slice(promptLength).entries()) {
    if (actionMask[i] === 0) {
      context += token;
      continue;
    }
    if (context !== '') text += paint.context(context);
    context = '';
    text += paint.sampled(token, logprobs[i] ?? NaN);
  }
  return context === '' ? text : text + paint.context(context);
}

function renderFork(
  { callIndex, reason, message, recorded, sent }: RecordedFork,
  paint: Paint,
): string {
  const lines = [
    `Call ${callIndex} left the recorded tokens (${reason}) at message ${message}.`,
    ...(recorded === undefined ? [] : [`  recorded: ${visible(recorded)}`]),
    `  sent:     ${visible(sent)}`,
  ];
  return paint.problem(lines.join('\n'));
}

function renderFailure(error: Error, turns: readonly Turn[], paint: Paint): string {
  const last = turns.at(-1);
  const lines = [
    paint.problem(`FAILED: ${visible(redactText(describeError(error)))}`),
    ...(last
      ? [
          `Last call of the model (${last.promptTokens} prompt tokens):`,
          paint.context(visible(last.prompt)),
        ]
      : []),
    ...(last?.answers.map(({ text }) => visible(text)) ?? []),
    ...(last?.error === undefined ? [] : [paint.problem(visible(last.error))]),
  ];
  return lines.join('\n');
}

function meanLogprob({ actionMask, logprobs }: Experience): number {
  const sampled = logprobs.filter((_, i) => actionMask[i] === 1);
  return sampled.reduce((sum, logprob) => sum + logprob, 0) / Math.max(1, sampled.length);
}

const number = (value: number): string => String(Number(value.toPrecision(5)));

const listed = (facts: Metrics | Readonly<Record<string, string | number>>): string =>
  Object.entries(facts)
    .map(([name, value]) => `${name} ${typeof value === 'number' ? number(value) : value}`)
    .join(', ') || 'none';
