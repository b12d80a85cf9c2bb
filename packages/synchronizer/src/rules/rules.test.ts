import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exploreTurn, type DrivenRules } from './explore.js';
import { boundaryBefore, isBoundary, neededFor, type Weights } from './settings.js';
import { consumedUpTo, publication } from './train.js';

const rulesOf = (over: Partial<DrivenRules> = {}): DrivenRules => ({
  syncStyle: 'trainer_driven',
  explorerSyncInterval: 1,
  trainerSyncInterval: 1,
  syncOffset: 0,
  ...over,
});

const styles = ['explorer_driven', 'trainer_driven', 'fully_async'] as const;
const anyRules = fc.record({
  syncStyle: fc.constantFrom(...styles),
  explorerSyncInterval: fc.integer({ min: 1, max: 4 }),
  trainerSyncInterval: fc.integer({ min: 1, max: 4 }),
  syncOffset: fc.integer({ min: 0, max: 3 }),
});

describe('meeting points', () => {
  it('lie every interval of explore steps after the offset', () => {
    const rules = rulesOf({ explorerSyncInterval: 2, syncOffset: 3 });
    const steps = [1, 2, 3, 4, 5, 6, 7, 8];
    expect(steps.filter((step) => isBoundary(rules, step))).toEqual([5, 7]);
    expect(steps.map((step) => boundaryBefore(rules, step))).toEqual([0, 0, 0, 0, 0, 5, 5, 7]);
  });
});

const w = (version: number, consumedUpTo: number): Weights => ({ version, consumedUpTo });

/**
 * Explorers wait in the same cases as in Trinity-RFT, except where waiting would deadlock the run
 * or leave the trainer without experiences for no reason.
 */
describe('an explorer at a meeting point', () => {
  const facts = { inUse: w(0, 0), lastSyncPoint: 0, answered: false };
  const turn = (syncStyle: DrivenRules['syncStyle'], over: object = {}) =>
    exploreTurn(rulesOf({ syncStyle }), 2, { ...facts, published: w(0, 0), ...over });

  it('waits until the trainer is between two steps, if it asks', () => {
    expect(turn('explorer_driven')).toMatchObject({ kind: 'wait' });
    expect(turn('explorer_driven', { answered: true })).toMatchObject({ kind: 'begin' });
    expect(turn('explorer_driven', { published: w(1, 1) })).toMatchObject({ kind: 'take' });
  });

  it.each(['trainer_driven', 'fully_async'] as const)(
    'takes what is there and never waits, if the style is %s',
    (style) => {
      expect(turn(style)).toMatchObject({ kind: 'begin' });
      expect(turn(style, { published: w(3, 1) })).toEqual({ kind: 'take', weights: w(3, 1) });
    },
  );

  it('takes weights between meeting points only in the style that changes them at any time', () => {
    const between = (syncStyle: DrivenRules['syncStyle']) =>
      exploreTurn(rulesOf({ syncStyle, explorerSyncInterval: 4 }), 2, {
        ...facts,
        published: w(3, 1),
        answered: true,
      }).kind;
    expect(styles.map(between)).toEqual(['begin', 'begin', 'take']);
  });

  it('is held back by the bound in every style, and says by what', () => {
    const bounded = rulesOf({
      syncStyle: 'trainer_driven',
      explorerSyncInterval: 9,
      maxStaleness: 1,
    });
    expect(exploreTurn(bounded, 3, { ...facts, published: w(0, 0) })).toEqual({
      kind: 'wait',
      what: 'the trainer to publish weights that have used up explore step 1: explore step 3 may be 1 ahead at most (max_staleness)',
    });
    expect(exploreTurn(bounded, 3, { ...facts, published: w(1, 1) })).toMatchObject({
      kind: 'take',
    });
  });
});

describe('a trainer between two steps', () => {
  const facts = { trainStep: 3, published: w(2, 1), consumedUpTo: 2, begunUpTo: 4 };

  it('publishes when asked, if the style is explorer_driven', () => {
    const rules = rulesOf({ syncStyle: 'explorer_driven' });
    expect(publication(rules, facts)).toBeUndefined();
    expect(publication(rules, { ...facts, asksForNewerThan: 3 })).toBeUndefined();
    expect(publication(rules, { ...facts, asksForNewerThan: 2 })).toEqual(w(3, 2));
  });

  it('publishes every interval of train steps, wherever the last publication was', () => {
    const rules = rulesOf({ syncStyle: 'fully_async', trainerSyncInterval: 4 });
    expect(publication(rules, facts)).toBeUndefined();
    expect(publication(rules, { ...facts, trainStep: 4 })).toEqual(w(4, 2));
    // At step 4 nothing was published, because the explorer was fetching the previous version.
    expect(publication(rules, { ...facts, trainStep: 5 })).toEqual(w(5, 2));
  });

  it('publishes early, or an old version again, where the bound holds exploring back', () => {
    const rules = rulesOf({ syncStyle: 'fully_async', trainerSyncInterval: 4, maxStaleness: 2 });
    expect(publication(rules, facts)).toEqual(w(3, 2));
    expect(publication(rules, { ...facts, trainStep: 2 })).toEqual(w(2, 2));
    expect(publication(rules, { ...facts, begunUpTo: 3 })).toBeUndefined();
  });
});

/** State of {@link simulate}. */
interface World {
  readonly inUse: Weights;
  readonly lastSyncPoint: number;
  readonly published: readonly Weights[];
  readonly trainStep: number;
  readonly begun: number;
  readonly consumedUpTo: number;
}

/**
 * Simulates an explorer and a trainer that advance in the order given by `order` (true = explorer)
 * until both are done.
 * @param makes number of train steps that each explore step makes
 * @returns the weights that each explore step began with
 */
function simulate(
  rules: DrivenRules,
  { order, makes }: { readonly order: readonly boolean[]; readonly makes: readonly number[] },
): readonly { readonly step: number; readonly weights: Weights }[] {
  const steps = makes.length;
  const begun: { step: number; weights: Weights }[] = [];
  let world: World = {
    inUse: w(0, 0),
    lastSyncPoint: 0,
    published: [w(0, 0)],
    trainStep: 0,
    begun: 0,
    consumedUpTo: 0,
  };
  let asks = false;
  const newest = (): Weights => world.published.at(-1)!;
  const starved = (): boolean => world.consumedUpTo >= world.begun;
  const publish = (): boolean => {
    const settled = consumedUpTo({
      storedUpTo: world.begun,
      oldestUnusedStep: world.consumedUpTo + 1,
      starved: starved(),
    });
    const weights = publication(rules, {
      trainStep: world.trainStep,
      published: newest(),
      consumedUpTo: settled,
      begunUpTo: world.begun,
      asksForNewerThan: asks ? world.inUse.version : undefined,
    });
    if (weights) world = { ...world, published: [...world.published, weights] };
    return weights !== undefined;
  };
  const train = (): boolean => {
    if (starved()) return publish();
    const used = world.consumedUpTo + 1;
    world = { ...world, consumedUpTo: used, trainStep: world.trainStep + (makes[used - 1] ?? 0) };
    publish();
    return true;
  };
  const explore = (): boolean => {
    const step = world.begun + 1;
    if (step > steps) return false;
    const boundary = boundaryBefore(rules, step);
    const published = newest();
    const { inUse, lastSyncPoint } = world;
    const turn = exploreTurn(rules, step, {
      inUse,
      published,
      lastSyncPoint,
      answered: asks && starved(),
    });
    asks = turn.kind === 'wait' || (asks && boundary > lastSyncPoint);
    if (turn.kind === 'wait') return false;
    const { weights } = turn;
    asks = false;
    expect(published.consumedUpTo).toBeGreaterThanOrEqual(neededFor(rules, step));
    begun.push({ step, weights });
    world = { ...world, inUse: weights, lastSyncPoint: boundary, begun: step };
    return true;
  };
  let i = 0;
  let idle = 0;
  while (world.begun < steps || world.consumedUpTo < steps) {
    const explores = order[i++ % order.length] ?? true;
    const moved = explores ? explore() : train();
    idle = moved ? 0 : idle + 1;
    if (idle > 2 * order.length + 2) {
      const helped = explore() || train() || explore() || train();
      if (!helped) throw new Error(`Nobody goes on at ${JSON.stringify(world)}.`);
      idle = 0;
    }
  }
  return begun;
}

const runs = fc.record({
  order: fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }),
  makes: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 14 }),
});

describe('explorer and trainer under the rules, in any order', () => {
  const bounded = fc
    .tuple(anyRules, fc.integer({ min: 0, max: 4 }))
    .map(([rules, maxStaleness]) => ({ ...rules, maxStaleness }));

  it('never begin an explore step with weights that are older than the bound, and never dead-lock', () => {
    fc.assert(
      fc.property(bounded, runs, (rules, run) => {
        const begun = simulate(rules, run);
        expect(begun).toHaveLength(run.makes.length);
        for (const { step, weights } of begun)
          expect(weights.consumedUpTo).toBeGreaterThanOrEqual(step - 1 - rules.maxStaleness);
      }),
      { numRuns: 300 },
    );
  });

  it('go on without a bound, too, also where nothing that was explored makes a train step', () => {
    fc.assert(
      fc.property(anyRules, runs, (rules, run) => {
        expect(simulate(rules, run)).toHaveLength(run.makes.length);
      }),
      { numRuns: 300 },
    );
  });

  it('use the same weights in every style, with a bound of 0', () => {
    fc.assert(
      fc.property(fc.constantFrom(...styles), runs, (syncStyle, run) => {
        const versions = (rules: DrivenRules): readonly number[] =>
          simulate(rules, run).map(({ weights }) => weights.version);
        const bounded = rulesOf({ syncStyle, maxStaleness: 0 });
        expect(versions(bounded)).toEqual(versions(rulesOf({ maxStaleness: 0 })));
      }),
    );
  });
});
