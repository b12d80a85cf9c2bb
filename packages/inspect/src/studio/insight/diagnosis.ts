/** Applies the rules of `trinity doctor` to a run. */
import { diagnose, rules, runsOf, type Finding } from '../../diagnosis/index.js';
import type { Diagnosis } from '../interface/types.js';
import { finite } from '../metrics/curve.js';
import type { Run } from '../runs/run.js';
import { withRecord } from './record.js';

export async function diagnosisOf(run: Run): Promise<Diagnosis> {
  const { findings, rollouts } = await withRecord(run, (record) => ({
    findings: diagnose(record),
    rollouts: runsOf(record.rollouts).length,
  }));
  return { findings: findings.map(toFinding), rules: rules.length, rollouts };
}

export const toFinding = ({
  numbers,
  rollouts,
  ...finding
}: Finding): Diagnosis['findings'][number] => ({
  ...finding,
  numbers: numbers.map(({ value, counted, outOf, ...number }) => ({
    ...number,
    counted: counted && [...counted],
    outOf: outOf && [...outOf],
    value: finite(value),
  })),
  rollouts: rollouts && { ...rollouts, ids: rollouts.ids && [...rollouts.ids] },
});
