import type { ArgSpec } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import type { PartDoc } from '../parts/part.js';
import { builtInTables } from './tables.js';

interface Row {
  readonly doc: PartDoc;
  readonly args?: ArgSpec;
}

const rows = Object.entries<Readonly<Record<string, Row>>>({ ...builtInTables }).flatMap(
  ([table, entries]) => Object.entries(entries).map(([name, row]) => ({ table, name, row })),
);

describe('the tables', () => {
  it.each(rows)('say what $table $name is', ({ row: { doc } }) => {
    expect(doc.summary).toMatch(/^\w.*\.$/);
    expect(doc.source?.url ?? 'https://none').toMatch(/^https?:\/\/\S+$/);
  });

  it.each(rows.filter(({ row }) => Object.keys(row.args ?? {}).length > 0))(
    'say what the arguments of $table $name do',
    ({ row }) => {
      const silent = Object.entries(row.args!).filter(([, { help }]) => !/^\S.*\.$/s.test(help));
      expect(silent.map(([name]) => name)).toEqual([]);
    },
  );

  it('have the algorithms of Trinity-RFT, and the runs per task that it declares', () => {
    const declared = {
      sft: 1,
      ppo: 1,
      grpo: 2,
      grpo_verl: 2,
      reinforceplusplus: 2,
      rloo: 2,
      opmd: 2,
      asymre: 2,
      dpo: 2,
      topr: 2,
      cispo: 2,
      gspo: 2,
      sapo: 2,
      mix: 8,
      mix_chord: 8,
      // The preset declares no number, and selecting the best run requires several.
      raft: 4,
      sppo: 2,
      rec: 2,
      multi_step_grpo: 8,
      on_policy_distill: 8,
      jsd: 8,
    };
    expect(
      Object.fromEntries(
        Object.entries(builtInTables.presets).map(([name, { repeatTimes }]) => [name, repeatTimes]),
      ),
    ).toMatchObject(declared);
  });

  it('compare runs only where a task has several', () => {
    const single = Object.entries(builtInTables.presets).filter(
      ([, { advantageFn, repeatTimes }]) =>
        advantageFn &&
        builtInTables.advantageFns[advantageFn.name]!.comparesRuns(advantageFn.args ?? {}) &&
        repeatTimes < 2,
    );
    expect(single).toEqual([]);
  });

  it('have an advantage for the explorer, unless it needs a critic or entropies', () => {
    const missing = Object.entries(builtInTables.advantageFns).filter(
      ([, part]) => !part.make('it', {}, 0).advantage,
    );
    expect(missing.map(([name]) => name)).toEqual(['ppo', 'clipb', 'clipv']);
  });
});
