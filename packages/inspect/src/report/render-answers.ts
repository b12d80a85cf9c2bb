/** Recorded answers of evaluations: those of the first weights next to those of the last. */
import { existsSync } from 'node:fs';
import { readExperiences } from '@trinity-rft/buffer';
import { loadTokenizer, type Tokenizer } from '@trinity-rft/chat';
import { ConfigError, runKey, type Experience, mean } from '@trinity-rft/core';
import { answersFile } from '@trinity-rft/launcher/files';
import { reasonsOf } from './reasons.js';
import type { RunReport } from './run-report.js';

/** Maximum number of characters of a question, and of an answer. */
const [mostOfQuestion, mostOfAnswer] = [160, 240];

/** A task of one set with its answer by one version of the weights. */
interface Answered {
  readonly row: number;
  readonly question: string | undefined;
  /** Mean reward over runs. */
  readonly reward: number;
  /** Answer of the first run. */
  readonly answer: string;
  /** Reasons that the reward function gave for the answer. */
  readonly reasons: readonly string[];
}

/**
 * Answers as `trinity log --answers` prints them.
 * @param most maximum number of tasks per set, those with the largest difference first
 * @throws ConfigError when no answers of evaluations are recorded
 */
export async function renderAnswers(
  { jobDirectory, stages }: RunReport,
  most: number,
): Promise<string> {
  const parts: string[] = [];
  for (const { directory, checkpoint } of stages) {
    const file = answersFile(directory);
    if (!existsSync(file)) continue;
    const tokenizer = checkpoint && (await loadTokenizer(checkpoint.directory));
    for (const [set, answers] of Map.groupBy(readAll(file), setOf))
      parts.push(renderSet(set, answers, { most, tokenizer }));
  }
  if (parts.length > 0) return parts.join('\n');
  throw new ConfigError(
    `No answers of evaluations are recorded in ${jobDirectory}. Give the run eval_tasksets, or evaluate it: trinity eval FILE.`,
    { code: 'NOTHING_RECORDED' },
  );
}

function readAll(file: string): readonly Experience[] {
  const reader = readExperiences(file);
  try {
    return [...reader.experiences()];
  } finally {
    reader.close();
  }
}

const setOf = ({ info }: Experience): string => String(info['taskset']);

interface SetOptions {
  readonly most: number;
  /** Decodes tool calls, which are not part of the text; undefined to leave them out. */
  readonly tokenizer: Tokenizer | undefined;
}

function renderSet(
  set: string,
  answers: readonly Experience[],
  { most, tokenizer }: SetOptions,
): string {
  const versions = [...new Set(answers.map(({ policyVersion }) => policyVersion))].toSorted(
    (a, b) => a - b,
  );
  const [first, last] = [versions[0] ?? 0, versions.at(-1) ?? 0];
  const of = (version: number): ReadonlyMap<number, Answered> =>
    answeredIn(
      answers.filter(({ policyVersion }) => policyVersion === version),
      tokenizer,
    );
  const [before, after] = [of(first), of(last)];
  const rows = [...new Set([...before.keys(), ...after.keys()])].toSorted((a, b) => a - b);
  const gain = (row: number): number =>
    (after.get(row)?.reward ?? 0) - (before.get(row)?.reward ?? 0);
  const shown = rows.toSorted((a, b) => Math.abs(gain(b)) - Math.abs(gain(a))).slice(0, most);
  const count = (holds: (gained: number) => boolean): number =>
    rows.filter((row) => holds(gain(row))).length;
  const title =
    first === last
      ? `${set}: answers after step ${last}, ${rows.length} tasks`
      : `${set}: answers after steps ${first} and ${last}, ${rows.length} tasks: ${count((x) => x > 0)} better, ${count((x) => x < 0)} worse, ${count((x) => x === 0)} same`;
  const blocks = shown.map((row) => {
    const question = (after.get(row) ?? before.get(row))?.question;
    const sides =
      first === last
        ? [[last, after] as const]
        : [[first, before] as const, [last, after] as const];
    const lines = sides.map(([version, side]) => {
      const found = side.get(row);
      const said = found
        ? `reward ${Number(found.reward.toPrecision(3))}  ${found.answer}`
        : 'failed';
      const why = (found?.reasons ?? []).map((reason) => `\n      ${shortened(oneLine(reason))}`);
      return `    step ${String(version).padEnd(String(last).length)}  ${said}${why.join('')}`;
    });
    return [`  row ${row}${question === undefined ? '' : `  ${question}`}`, ...lines, ''].join(
      '\n',
    );
  });
  return `${title}\n\n${blocks.join('\n')}`;
}

function answeredIn(
  answers: readonly Experience[],
  tokenizer: Tokenizer | undefined,
): ReadonlyMap<number, Answered> {
  const tasks = Map.groupBy(answers, ({ info }) => Number(info['row']));
  return new Map(
    [...tasks].map(([row, calls]) => {
      const runs = [...Map.groupBy(calls, ({ eid }) => runKey(eid)).values()].map((run) =>
        run.toSorted((a, b) => a.eid.step - b.eid.step),
      );
      const [run = []] = runs;
      const question = run[0]?.promptText;
      return [
        row,
        {
          row,
          question: question === undefined ? undefined : oneLine(question).slice(-mostOfQuestion),
          reward: mean(runs.map((each) => each.at(-1)?.reward ?? 0)),
          answer: shortened(run.map((call) => responseOf(call, tokenizer)).join(' -> ')),
          reasons: reasonsOf(run.at(-1)) ?? [],
        },
      ];
    }),
  );
}

function responseOf(
  { tokens, promptLength, responseText = '' }: Experience,
  tokenizer: Tokenizer | undefined,
): string {
  if (!tokenizer) return oneLine(responseText);
  const answered = tokens.subarray(promptLength);
  const end = tokenizer.eosTokenIds.includes(answered.at(-1) ?? -1) ? -1 : undefined;
  return oneLine(tokenizer.decode(answered.slice(0, end)));
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

const shortened = (text: string): string =>
  text.length > mostOfAnswer ? `${text.slice(0, mostOfAnswer)}...` : text;
