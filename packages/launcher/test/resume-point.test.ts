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
): ResumeInput {
  const isBoundary = (step: number): boolean => step > offset && (step - offset) % interval === 0;
  return {
    checkpoints: checkpoints.map(checkpoint),
    explorer,
    settings: { syncStyle: 'fixed', syncInterval: interval },
    isBoundary,
  };
}

describe('findResumePoint', () => {
  it('begins at the beginning when nothing was stored', () => {
    expect(findResumePoint(input([], undefined))).toEqual({
      checkpoint: undefined,
      trainStep: 0,
      explorerVersion: 0,
      catchUp: false,
    });
  });

  it.each([
    ['the weights of the boundary, when the trainer has saved them', [2, 3, 4], state(4, 3), 4],
    ['an older checkpoint, when those weights were not saved', [1, 2], state(4, 3), 2],
    ['a checkpoint that is not past what the explorer needs', [1, 2, 9], state(4, 3), 2],
    ['the model of the start, when every checkpoint is past it', [9], state(4, 3), 0],
  ])('takes %s', (_what, steps, explorer, expected) => {
    expect(findResumePoint(input(steps, explorer))).toEqual({
      checkpoint: expected === 0 ? undefined : checkpoint(expected),
      trainStep: expected,
      explorerVersion: expected < 3 ? 2 : 3,
      catchUp: expected < 3,
    });
  });

  it('does not take weights between two publications for the next one', () => {
    expect(findResumePoint(input([2, 4], state(6, 3), { interval: 3, offset: 0 }))).toMatchObject({
      trainStep: 2,
      explorerVersion: 2,
      catchUp: true,
    });
    expect(
      findResumePoint(input([2, 4, 6], state(6, 3), { interval: 3, offset: 0 })),
    ).toMatchObject({
      trainStep: 6,
      explorerVersion: 3,
      catchUp: false,
    });
  });

  it('has the trainer make weights again that the explorer needs in the middle of an interval', () => {
    const timing = { interval: 4, offset: 1 };
    expect(findResumePoint(input([3, 4, 6], state(7, 4), timing))).toMatchObject({
      trainStep: 4,
      explorerVersion: 4,
      catchUp: false,
    });
    expect(findResumePoint(input([3, 6], state(7, 4), timing))).toMatchObject({
      trainStep: 3,
      explorerVersion: 3,
      catchUp: true,
    });
  });

  it('takes the newest checkpoint when the explorer goes first: which version a step saw is not repeated then', () => {
    expect(
      findResumePoint({
        ...input([3, 6], state(7, 4)),
        settings: { syncStyle: 'explorer_driven', syncInterval: 1 },
      }),
    ).toMatchObject({
      trainStep: 6,
      explorerVersion: 6,
      catchUp: false,
    });
  });

  it('never starts the trainer past the version that the next explore step must see', () => {
    const cases = fc.record({
      interval: fc.integer({ min: 1, max: 4 }),
      offset: fc.integer({ min: 0, max: 3 }),
      step: fc.integer({ min: 1, max: 40 }),
      saved: fc.uniqueArray(fc.integer({ min: 0, max: 60 }), { maxLength: 10 }),
    });
    fc.assert(
      fc.property(cases, ({ interval, offset, step, saved }) => {
        // In an undisturbed run of one train step per explore step, `step` is made by the version
        // of the last boundary before it.
        const publicationsBefore = (upTo: number): number =>
          Math.max(0, Math.floor((upTo - offset) / interval)) * interval;
        const policyVersion = publicationsBefore(step - 1);
        const next = publicationsBefore(step);
        const point = findResumePoint(
          input(
            saved.toSorted((a, b) => a - b),
            state(step, policyVersion),
            { interval, offset },
          ),
        );
        expect(point.checkpoint?.manifest.step ?? 0).toBe(point.trainStep);
        // Weights between the explorer's own and the next publication would be taken for that
        // publication.
        expect(point.trainStep === next || point.trainStep <= policyVersion).toBe(true);
        // The sampler begins with the trainer's weights, or waits for its own: never with older
        // ones.
        expect(point.catchUp).toBe(point.trainStep < policyVersion);
        expect(point.explorerVersion).toBe(point.catchUp ? policyVersion - 1 : policyVersion);
      }),
    );
  });
});
