import fc from 'fast-check';
import { expect, it } from 'vitest';
import { smallIntegers, textColumn } from './columns.js';
import { createRolloutChains } from './rollout-chains.js';

it('has the calls that were added and not removed, in the order of their steps', () => {
  const number = fc.nat({ max: 3 });
  const act = fc.record({ remove: fc.boolean(), task: number, run: number, step: number });
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
      const names = {
        ...{ batch: textColumn(), task: textColumn() },
        ...{ run: smallIntegers(), step: smallIntegers(), gone: smallIntegers() },
      };
      const chains = createRolloutChains(names);
      const calls: { name: string; position: number; step: number }[] = [];
      let size = 0;
      for (const { remove, task, run, step } of acts) {
        const [gone] = remove ? calls.splice(step % Math.max(1, calls.length), 1) : [];
        if (gone) chains.remove(gone.position);
        else {
          names.task.set(size, `${task}`);
          names.run.set(size, run);
          names.step.set(size, step);
          calls.push({ name: `${task}/${run}`, position: size, step });
          chains.add(size++);
        }
      }
      const nameOf = (position: number) => `${names.task.at(position)}/${names.run.at(position)}`;
      const there = Array.from({ length: chains.count() }, (_, rollout) => rollout).filter(
        chains.isThere,
      );
      const expected = Map.groupBy(calls, ({ name }) => name);
      expect(chains.present()).toBe(expected.size);
      expect(there).toHaveLength(expected.size);
      for (const rollout of there) {
        const own = chains.calls(rollout);
        const wanted = (expected.get(nameOf(chains.first(rollout))) ?? [])
          .toSorted((a, b) => a.step - b.step || a.position - b.position)
          .map(({ position }) => position);
        expect(own).toEqual(wanted);
        expect(chains.only(rollout)).toBe(wanted.length === 1 ? wanted[0] : undefined);
      }
    }),
  );
});
