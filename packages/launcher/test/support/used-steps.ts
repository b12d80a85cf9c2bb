/** Returns the number of experiences of a store that each train step used. */
export function usedSteps(database: string): readonly (readonly [step: number, count: number])[] {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  const file = new DatabaseSync(database, { readOnly: true });
  const rows = file
    .prepare('SELECT train_step AS step, count(DISTINCT id) AS n FROM used GROUP BY 1 ORDER BY 1')
    .all();
  file.close();
  return rows.map(({ step, n }) => [Number(step), Number(n)]);
}
