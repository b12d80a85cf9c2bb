/** Scores an episode by what the policy found in the mailbox. */

export interface Findings {
  /** The policy's answer; undefined for `I don't know`. */
  readonly answer: string | undefined;
  readonly isRight: boolean;
  readonly sources: readonly string[];
  readonly found: ReadonlySet<string>;
  readonly read: ReadonlySet<string>;
  /** Id of the message that contains the answer. */
  readonly gold: string;
  readonly turns: number;
  readonly maxTurns: number;
}

/**
 * Returns the score as in Trinity-RFT's `email_search_workflow`: 2 to 2.5 for a right answer, -1 to
 * -0.7 for a wrong one, and 0 to 0.3 if there is no answer.
 */
export function rubricScore(findings: Findings): number {
  const { answer, isRight, sources, found, read, gold, turns, maxTurns } = findings;
  const isCited = sources.includes(gold);
  const steps = [found.has(gold), read.has(gold), isCited].filter(Boolean).length / 10;
  if (answer === undefined) return steps;
  if (!isRight) return steps - 1;
  const brevity = sources.length === 0 ? 0 : 0.1 / sources.length;
  return 2 + (isCited ? 0.3 : 0) + brevity + 0.1 * (1 - turns / maxTurns);
}
