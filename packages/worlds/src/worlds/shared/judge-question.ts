/** Questions to the judge of a run. */
import type { JudgeQuestion } from '@trinity-rft/environment';

interface QuestionOptions<T> {
  /** What is to be judged, and how. */
  readonly rules: string;
  readonly material: Readonly<Record<string, string>>;
  readonly parse: (answer: string) => T | undefined;
  readonly expected: string;
}

/** The material stands apart from the rules: what a policy writes is judged, not followed. */
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

/** The last of two words that the answer has. */
export function lastOf(answer: string, yes: string, no: string): boolean | undefined {
  const found = [...answer.matchAll(new RegExp(`\\b(${yes}|${no})\\b`, 'gi'))].at(-1)?.[1];
  return found === undefined ? undefined : found.toLowerCase() === yes.toLowerCase();
}
