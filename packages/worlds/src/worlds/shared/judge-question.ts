/** Builds prompts for the judge of a training run. */
import type { JudgeQuestion } from '@trinity-rft/environment';

interface QuestionOptions<T> {
  /** Instructions that tell the judge what to judge and how. */
  readonly rules: string;
  readonly material: Readonly<Record<string, string>>;
  readonly parse: (answer: string) => T | undefined;
  readonly expected: string;
}

/**
 * Builds a prompt with the material in tags, separate from the rules, so that the judge does not
 * obey instructions that the trained model wrote.
 */
export function judgeQuestion<T>(options: QuestionOptions<T>): JudgeQuestion<T> {
  const { rules, material, parse, expected } = options;
  const parts = Object.entries(material).map(([name, text]) => `<${name}>\n${text}\n</${name}>`);
  return {
    messages: [
      { role: 'system', content: rules },
      { role: 'user', content: parts.join('\n\n') },
    ],
    parse,
    expected,
  };
}

/**
 * Finds the last of the two words in the judge's response. Returns true if it is `yes`, or `no`
 * after "not", and undefined if the response contains neither word.
 */
export function lastOf(answer: string, yes: string, no: string): boolean | undefined {
  const [, not, found] =
    [...answer.matchAll(new RegExp(`(\\bnot\\s+)?\\b(${yes}|${no})\\b`, 'gi'))].at(-1) ?? [];
  if (found === undefined) return undefined;
  return (found.toLowerCase() === yes.toLowerCase()) === (not === undefined);
}
