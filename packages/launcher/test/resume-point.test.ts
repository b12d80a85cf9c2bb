import type { ExplorerState } from '@trinity-rft/explorer';
import type { Checkpoint } from '@trinity-rft/trainer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findResumePoint, type ResumeInput } from '../src/modes/both/resume-point.js';

const checkpoint = (step: number): Checkpoint => ({
  directory: `global_step_${step}`,
  manifest: { version: 1, step, final: false, files: [] },
});
const state = (step: number, policyVersion: number): ExplorerState => ({
  step,
  policyVersion,
  feed: {},
});

interface Timing {
  readonly interval: number;
  readonly offset: number;
}

function input(
  checkpoints: readonly number[],
  explorer: ExplorerState | undefined,
  { interval, offset }: Timing = { interval: 1, offset: 0 },
  firstTrainStepAfter?: number,
): ResumeInput {
  return {
    checkpoints: checkpoints.map(checkpoint),
    explorer,
    settings: { syncStyle: 'fixed', explorerSyncInterval: interval, syncOffset: offset },
    firstTrainStepAfter,
  };
}

describe('findResumePoint', () => {
  it('begins at the beginning when nothing was stored', () => {
    expect(findResumePoint(input([], undefined))).toEqual({
      checkpoint: undefined,
      trainStep: 0,
      explorerVersion: 0,
      boundary: 1,
      catchUp: false,
    });
  });

  it('takes the newest checkpoint at a boundary, since the trainer uses up the rest before the explorer continues', () => {
    for (const [saved, trainStep] of [
      [[2, 3, 4], 4],
      [[1, 2], 2],
      [[], 0],
      [[5, 9], 9],
    ] as const)
      expect(findResumePoint(input(saved, state(4, 3)))).toMatchObject({
        trainStep,
        explorerVersion: 3,
        boundary: 4,
        catchUp: false,
      });
  });

  it('takes no checkpoint that has seen what the trainer was to get only after the boundary', () => {
    // Step 6 has been explored, 5 may be trained on; train step 11 is the first that used step 6.
    const timing = { interval: 1, offset: 1 };
    expect(findResumePoint(input([8, 10, 12], state(6, 8), timing, 11))).toMatchObject({
      trainStep: 10,
      boundary: 6,
      catchUp: false,
    });
  });

  it('has the trainer make weights again that the explorer needs in the middle of an interval', () => {
    const timing = { interval: 4, offset: 1 };
    expect(findResumePoint(input([3, 4, 6], state(7, 4), timing))).toMatchObject({
      trainStep: 4,
      explorerVersion: 4,
      boundary: 9,
      catchUp: false,
    });
    expect(findResumePoint(input([3, 6], state(7, 4), timing))).toMatchObject({
      trainStep: 3,
      explorerVersion: 4,
      boundary: 5,
      catchUp: true,
    });
  });

  it('takes the newest checkpoint after a server has trained, at a boundary and between two', () => {
    const served = (step: number): ExplorerState => ({ ...state(step, 4), served: true });
    expect(findResumePoint(input([11], served(7), { interval: 4, offset: 1 }))).toMatchObject({
      ...{ trainStep: 11, explorerVersion: 11, boundary: 9, catchUp: false },
    });
    expect(findResumePoint(input([11], served(6), { interval: 1, offset: 1 }, 8))).toMatchObject({
      ...{ trainStep: 11, explorerVersion: 11, boundary: 6, catchUp: false },
    });
  });

  it('begins before the boundary if the evaluation before it is still due', () => {
    const due = { ...state(4, 3), evaluationDue: true };
    expect(findResumePoint(input([2, 3, 4], due))).toMatchObject({
      trainStep: 3,
      boundary: 4,
      catchUp: false,
    });
    expect(findResumePoint(input([2, 4], due))).toMatchObject({
      trainStep: 2,
      boundary: 3,
      catchUp: true,
    });
  });

  it('takes the newest checkpoint when the explorer goes first: which version a step saw is not repeated then', () => {
    const resumed = input([3, 6], state(7, 4));
    expect(
      findResumePoint({
        ...resumed,
        settings: { ...resumed.settings, syncStyle: 'explorer_driven' },
      }),
    ).toMatchObject({ trainStep: 6, explorerVersion: 6, catchUp: false });
  });

  it('never starts the trainer past the weights that the next explore step must see', () => {
    const cases = fc.record({
      interval: fc.integer({ min: 1, max: 4 }),
      offset: fc.integer({ min: 0, max: 3 }),
      step: fc.integer({ min: 1, max: 40 }),
      trainSteps: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 60, maxLength: 60 }),
      saved: fc.uniqueArray(fc.integer({ min: 0, max: 60 }), { maxLength: 10 }),
    });
    fc.assert(
      fc.property(cases, ({ interval, offset, step, trainSteps, saved }) => {
        /**
         * Version of the weights once the trainer has used all experiences up to an explore step.
         */
        const after = (exploreStep: number): number =>
          trainSteps.slice(0, Math.max(0, exploreStep)).reduce((sum, count) => sum + count, 0);
        const released = (upTo: number): number =>
          Math.max(0, Math.floor((upTo - offset) / interval)) * interval;
        const policyVersion = after(released(step - 1));
        const next = after(released(step));
        const resumed = input(
          saved.toSorted((a, b) => a - b),
          state(step, policyVersion),
          { interval, offset },
          after(step - offset) + 1,
        );
        const point = findResumePoint(resumed);
        expect(point.checkpoint?.manifest.step ?? 0).toBe(point.trainStep);
        expect(point.trainStep).toBeLessThanOrEqual(next);
        const atBoundary = point.boundary === step;
        expect(point.catchUp).toBe(!atBoundary && point.trainStep < policyVersion);
        expect(released(point.boundary)).toBe(
          point.catchUp || atBoundary ? released(step) : released(step) + interval,
        );
      }),
    );
  });
});
