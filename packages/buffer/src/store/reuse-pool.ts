/** Implements a pool whose rows may be trained on several times. */
import { pickBatch, type BatchRequest, type RowLimits } from './pick-batch.js';
import type { Reuse } from './reuse.js';
import type { StoredRow } from './row-driver.js';
import { stepNumberOf } from './row-names.js';
import type { PoolPick, RowPool } from './row-pool.js';
import type { RecordedStep } from './row-driver.js';

interface Pool {
  readonly reuse: Reuse;
  /** Rows in the pool, keyed by id. Each is either available or in its cooldown. */
  readonly rows: Map<number, StoredRow>;
  /** Recorded train steps that are to be repeated, in order, before new batches are selected. */
  recorded: readonly RecordedStep[];
}

/** Rows that are used together and share one priority. */
interface Item {
  readonly rows: readonly [StoredRow, ...StoredRow[]];
  readonly priority: number;
}

/**
 * Creates a pool.
 * @param initial rows to start with, each with its number of uses so far
 */
export function reusePool(reuse: Reuse, initial: readonly StoredRow[]): RowPool {
  const pool: Pool = { reuse, rows: new Map(), recorded: [] };
  // A recorded train step needs its rows even if they may now be used fewer times.
  const add = (rows: readonly StoredRow[]): void => {
    const named = new Set(pool.recorded.flatMap(({ used, dropped }) => [...used, ...dropped]));
    for (const row of rows)
      if (usesOf(row) < reuse.maxUses || named.has(row.id)) pool.rows.set(row.id, row);
  };
  add(initial);
  return {
    get length() {
      return pool.rows.size;
    },
    get newRows() {
      return newRows(pool).length;
    },
    get oldestNew() {
      return newRows(pool).reduce<StoredRow | undefined>(
        (a, b) => (a && a.id < b.id ? a : b),
        undefined,
      );
    },
    add,
    putBack: ({ used, stale, recordedStep }) => {
      if (recordedStep !== undefined)
        pool.recorded = [recordOf(recordedStep, used, stale), ...pool.recorded];
      add([...used, ...stale]);
    },
    settle: ({ used }, { trainStep, at }) =>
      add(
        used.map((row) => ({ ...row, uses: usesOf(row) + 1, lastUse: trainStep, lastUseAt: at })),
      ),
    reset: (rows, recorded = []) => {
      pool.rows.clear();
      pool.recorded = recorded;
      add(rows);
    },
    pick: (request, limits) => {
      const picked = pickAgain(pool, limits) ?? pickNext(pool, request, limits);
      for (const { id } of [...picked.used, ...picked.stale]) pool.rows.delete(id);
      if (picked.recordedStep !== undefined) pool.recorded = pool.recorded.slice(1);
      return picked;
    },
    reusableIds: () => pool.rows.keys(),
    nextAt: () => nextAt(pool),
    mayComeLater: () => !reuse.endsWithoutNew && nextAt(pool) !== undefined,
  };
}

const usesOf = ({ uses = 0 }: StoredRow): number => uses;
const idOf = ({ id }: StoredRow): number => id;
const recordOf = (
  trainStep: number,
  used: readonly StoredRow[],
  stale: readonly StoredRow[],
): RecordedStep => ({ trainStep, used: used.map(idOf), dropped: stale.map(idOf) });

const newRows = ({ rows }: Pool): readonly StoredRow[] =>
  [...rows.values()].filter((row) => usesOf(row) === 0);

const readyAt = ({ reuse }: Pool, { lastUseAt }: StoredRow): number =>
  lastUseAt === undefined ? -Infinity : lastUseAt + reuse.cooldownMs;

function nextAt(pool: Pool): number | undefined {
  const now = pool.reuse.clock.now();
  const later = [...pool.rows.values()].map((row) => readyAt(pool, row)).filter((at) => at > now);
  return later.length === 0 ? undefined : later.reduce((a, b) => Math.min(a, b));
}

const nothing: PoolPick = { used: [], stale: [], complete: false };

const isReleasedBy = ({ finished, lastExploreStep }: RowLimits, row: StoredRow): boolean =>
  finished || stepNumberOf(row) <= lastExploreStep;

/**
 * Returns the rows of the next recorded train step, so that it can be repeated. Returns an
 * incomplete batch if not all of its rows are present and released, and undefined if no train step
 * is to be repeated.
 */
function pickAgain({ recorded, rows }: Pool, limits: RowLimits): PoolPick | undefined {
  const [step] = recorded;
  if (step === undefined) return undefined;
  const find = (ids: readonly number[]): readonly StoredRow[] =>
    ids.flatMap((id) => rows.get(id) ?? []);
  const used = find(step.used);
  if (used.length < step.used.length || !used.every((row) => isReleasedBy(limits, row)))
    return nothing;
  return { used, stale: find(step.dropped), complete: true, recordedStep: step.trainStep };
}

/** Selects the next batch by priority, and evicts the lowest-priority rows above capacity. */
function pickNext(pool: Pool, request: BatchRequest, limits: RowLimits): PoolPick {
  const { reuse } = pool;
  const ends = limits.finished && reuse.endsWithoutNew;
  const { items, evicted } = available(pool, limits);
  const ordered = reuse.needsNew || ends ? newFirst(items) : items;
  const remainder = ends || (limits.finished && nextAt(pool) === undefined);
  const picked = pickBatch(
    ordered.flatMap(({ rows }) => rows),
    request,
    { lastExploreStep: Infinity, finished: remainder },
  );
  if (!picked.complete) return nothing;
  return { ...picked, stale: [...picked.stale, ...evicted.flatMap(({ rows }) => rows)] };
}

function available(
  pool: Pool,
  limits: RowLimits,
): { readonly items: readonly Item[]; readonly evicted: readonly Item[] } {
  const now = pool.reuse.clock.now();
  const rows = [...pool.rows.values()]
    .filter((row) => readyAt(pool, row) <= now && isReleasedBy(limits, row))
    .sort((a, b) => a.id - b.id);
  const items = itemsOf(pool.reuse, rows);
  const lowestFirst = items.toSorted((a, b) => a.priority - b.priority || waited(a, b));
  const evicted = lowestFirst.slice(0, Math.max(0, items.length - pool.reuse.capacity));
  const kept = items.filter((item) => !evicted.includes(item));
  return { items: kept.sort((a, b) => b.priority - a.priority || waited(a, b)), evicted };
}

/**
 * Compares items of equal priority. The least recently used item comes first, then the item that
 * was stored first.
 */
const waited = ({ rows: [a] }: Item, { rows: [b] }: Item): number =>
  (a.lastUse ?? 0) - (b.lastUse ?? 0) || a.id - b.id;

function itemsOf({ itemOf, priority }: Reuse, rows: readonly StoredRow[]): Item[] {
  const items = new Map<string, [StoredRow, ...StoredRow[]]>();
  for (const row of rows) {
    const key = itemOf(row);
    const item = items.get(key);
    if (item) item.push(row);
    else items.set(key, [row]);
  }
  return [...items.values()].map((members) => ({ rows: members, priority: priority(members[0]) }));
}

/**
 * Moves the first item that was never trained on to the front, so that the batch contains it.
 * Returns an empty list if there is no such item, so that no batch is formed.
 */
function newFirst(items: readonly Item[]): readonly Item[] {
  const leading = items.find(({ rows: [row] }) => usesOf(row) === 0);
  return leading ? [leading, ...items.filter((item) => item !== leading)] : [];
}
