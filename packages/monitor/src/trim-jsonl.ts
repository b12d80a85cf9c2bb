/** Removes incomplete lines, and records of steps that will be repeated, from a metrics file. */
import { existsSync, readFileSync } from 'node:fs';
import type { MetricRole } from '@trinity-rft/core';
import { replaceFileSync, tryJson } from '@trinity-rft/core/support';
import { earlierFile } from './file-writer.js';
import type { ResumePoint } from './resume-point.js';

/**
 * Removes lines that are not valid JSON, which a killed process may have left, and records beyond
 * the resume point of their role. With `hadEnded`, records written at the end of the training run
 * are kept. The new content is written to a separate file, which then replaces the original, so
 * that nothing is lost if this process is killed as well. If the file is missing or needs no
 * change, nothing is written.
 */
export function trimJsonl(file: string, resume: ResumePoint): void {
  let isRepeated = false;
  keepLines(file, (record) => {
    if (stays(record, resume)) return true;
    isRepeated ||= isExploreStep(record);
    return endedIt(record, resume) && !isRepeated;
  });
}

/**
 * Removes rollouts of later steps, and incomplete lines, from a preview file and from the file to
 * which an earlier preview was renamed.
 */
export function trimPreview(file: string, lastStep: number): void {
  const stepOf = (record: unknown): number => Number((record as { step?: unknown } | null)?.step);
  for (const each of [earlierFile(file), file])
    keepLines(each, (record) => !(stepOf(record) > lastStep));
}

function keepLines(file: string, keeps: (record: unknown) => boolean): void {
  if (!existsSync(file)) return;
  const before = readFileSync(file, 'utf8');
  const after = before
    .split('\n')
    .filter((line) => {
      const record = tryJson(line);
      return record !== undefined && keeps(record);
    })
    .map((line) => `${line}\n`)
    .join('');
  if (after !== before) replaceFileSync(file, after, { flush: true });
}

/**
 * Returns true if a record is kept. JSON of another shape is always kept, because another program
 * may have written it.
 */
function stays(record: unknown, resume: ResumePoint): boolean {
  if (typeof record !== 'object' || record === null) return true;
  const { role, step } = record as { readonly role?: unknown; readonly step?: unknown };
  if (typeof role !== 'string' || typeof step !== 'number' || !Object.hasOwn(resume, role))
    return true;
  const last = resume[role as MetricRole] ?? Infinity;
  if (role === 'explorer' && step === last && resume.evaluationDue) return isExploreStep(record);
  return step <= last;
}

/**
 * Returns true for a record of the explorer if the training run had finished and is continued, see
 * `ResumePoint.hadEnded`, unless it is of an evaluation that is made again.
 */
function endedIt(
  record: unknown,
  { explorer = -1, hadEnded, evaluationDue }: ResumePoint,
): boolean {
  const { role, step } = record as { readonly role: unknown; readonly step: unknown };
  const isRepeated = evaluationDue === true && step === explorer;
  return hadEnded === true && explorer >= 0 && role === 'explorer' && !isRepeated;
}

/**
 * Returns true if a record belongs to an explore step. Only explore steps have the timing
 * `time/wait_explore_step`.
 */
const isExploreStep = (record: unknown): boolean =>
  Object.hasOwn((record as { readonly timing?: object }).timing ?? {}, 'time/wait_explore_step');
