import type { RunRecord } from './evidence/record.js';
import type { Finding, Rule } from './evidence/rule.js';
import { rules as allRules } from './rules/table.js';

/**
 * Finds the problems of a run or of one of its stages. Omits findings that another finding
 * explains. Reports rules with `isLastResort` only if no other rule applies.
 * @param rules rules to apply. @default all rules
 */
export function diagnose(run: RunRecord, rules: readonly Rule[] = allRules): readonly Finding[] {
  const held = rules.flatMap((rule) => {
    const evidence = rule.look(run);
    return evidence ? [{ rule, evidence }] : [];
  });
  const explained = new Set(held.flatMap(({ rule }) => rule.explains ?? []));
  const named = held.filter(({ rule }) => !explained.has(rule.name));
  const others = named.filter(({ rule }) => rule.isLastResort !== true);
  return (others.length > 0 ? others : named).map(
    ({ rule: { name, title, when, advice }, evidence }) => ({
      name,
      title,
      when,
      advice,
      ...evidence,
    }),
  );
}
