/** Virtualized table of rollouts. */
import type { Rollout, RolloutPage } from '@trinity-rft/inspect/studio/interface';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { afterErrorMs, ask, isWorthAgain, messageOf, runPath } from '../api.js';
import { Empty, Problem } from '../design/states.js';
import { useVirtualRows } from '../parts/virtual-rows.js';
import type { Place } from '../place.js';
import { words as frame } from '../words/frame.js';
import { words } from '../words/rollouts.js';
import { columns as specs, type ColumnName } from './rollouts-columns.js';

/** Opens the rollout that is `by` rows below the open rollout. */
export type Step = (by: number) => void;

interface RolloutTableProps {
  readonly run: string;
  /** Current number of model calls in the store. */
  readonly recorded: number | undefined;
  readonly columns: readonly ColumnName[];
  readonly filter: Place['query'];
  readonly chosen: number | undefined;
  /** Object in which the table stores its function for opening the next or previous rollout. */
  readonly step: { current: Step };
  readonly onChoose: (id: number) => void;
  readonly onFilter: (changed: Place['query']) => void;
}

const pageSize = 50;
const rowHeight = 36;

export function RolloutTable(props: RolloutTableProps) {
  const { run, recorded, columns, filter, chosen, step, onChoose, onFilter } = props;
  const { pages, list, problem, want, refresh } = usePages(run, filter);
  const { matching = 0, total, progress } = list ?? {};
  const { items, height, scroller, show, fitting } = useVirtualRows(matching, rowHeight);
  const [active, setActive] = useState(0);
  const [from, to] = [items.at(0)?.index ?? 0, items.at(-1)?.index ?? 0];
  useEffect(() => {
    // Debounced, so that pages that are scrolled past are not requested.
    const timer = setTimeout(() => want([...pagesOf(from, to)]), 50);
    return () => clearTimeout(timer);
  }, [from, to, list?.upTo, matching]);
  const widths = columns.map((name) => specs[name].width).join(' ');
  useLayoutEffect(() => scroller.current?.style.setProperty('--columns', widths), [widths]);
  const rowAt = (index: number): Rollout | undefined =>
    pages.get(Math.floor(index / pageSize))?.[index % pageSize];
  const move = (index: number): void => {
    const next = Math.min(matching - 1, Math.max(0, index));
    setActive(next);
    show(next);
  };
  const choose = (index: number): void => {
    setActive(index);
    const row = rowAt(index);
    if (row) onChoose(row.id);
  };
  step.current = (by) => {
    const open = [...pages]
      .flatMap(([page, rows]) => rows.map((row, i) => ({ row, index: page * pageSize + i })))
      .find(({ row }) => chosen !== undefined && row.rows.includes(chosen));
    const next = Math.min(matching - 1, Math.max(0, (open?.index ?? active) + by));
    show(next);
    choose(next);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== event.currentTarget) return;
    const next = { ...steps, PageDown: fitting, PageUp: -fitting }[event.key];
    if (next !== undefined) move(active + next);
    else if (event.key === 'Home') move(0);
    else if (event.key === 'End') move(matching - 1);
    else if (event.key === 'Enter' || event.key === ' ') choose(active);
    else return;
    event.preventDefault();
  };
  const isInView = active >= from && active <= to;
  const isEmpty = total !== undefined && matching === 0 && !progress;
  return (
    <>
      {problem !== undefined && <Problem text={problem} />}
      <p class="count" role="status">
        {total !== undefined &&
          (progress
            ? words.soFar(matching, progress.done, progress.of)
            : words.of(matching, total))}{' '}
        {recorded !== undefined && list !== undefined && recorded > list.recorded && (
          <>
            {words.newer}{' '}
            <button type="button" class="quiet" onClick={refresh}>
              {words.refresh}
            </button>
          </>
        )}
      </p>
      <div
        ref={scroller}
        class="rows card"
        role="grid"
        hidden={isEmpty || (list === undefined && problem !== undefined)}
        tabIndex={0}
        aria-label={frame.pages.rollouts}
        aria-rowcount={matching + 1}
        aria-activedescendant={isInView && matching > 0 ? `row-${active}` : undefined}
        onKeyDown={onKeyDown}
      >
        <Titles columns={columns} filter={filter} onFilter={onFilter} />
        <div
          role="rowgroup"
          class="body"
          ref={(element) => element?.style.setProperty('height', `${height}px`)}
        >
          {items.map(({ index, start }) => (
            <Row
              // Reuses the elements of rows that leave the view.
              key={index % items.length}
              index={index}
              start={start}
              columns={columns}
              row={rowAt(index)}
              isChosen={chosen !== undefined && rowAt(index)?.rows.includes(chosen) === true}
              isActive={index === active}
              onChoose={choose}
            />
          ))}
        </div>
      </div>
      {isEmpty && (
        <div class="card">
          <Empty title={words.none} text={words.noneHelp} />
        </div>
      )}
    </>
  );
}

const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

function* pagesOf(from: number, to: number): Generator<number> {
  for (let page = Math.floor(from / pageSize); page * pageSize <= to; page++) yield page;
}

type Pages = ReadonlyMap<number, readonly Rollout[]>;

const keptPages = 40;
/** Time in ms after which pages are reloaded after a partial response. */
const againMs = 400;

interface ListState {
  readonly asked: Set<number>;
  /** Numbers of the pages in view. */
  wanted: readonly number[];
  /**
   * Counter that is increased when the list is reset. Responses to requests from before the reset
   * are ignored.
   */
  round: number;
  /**
   * Id of the newest row when the first response arrived; 0 before that. The list ends at this row,
   * so that pages stay consistent.
   */
  upTo: number;
  timer?: ReturnType<typeof setTimeout>;
}

/** Loads pages of rows when they come into view. */
function usePages(run: string, filter: Place['query']) {
  const [pages, setPages] = useState<Pages>(new Map());
  const [list, setList] = useState<Omit<RolloutPage, 'rows'>>();
  const [problem, setProblem] = useState<string>();
  const { current: state } = useRef<ListState>({
    asked: new Set(),
    wanted: [0],
    round: 0,
    upTo: 0,
  });
  const load = (page: number): void => {
    state.asked.add(page);
    const { round } = state;
    const { attempt, sort = 'id', descending = 'true', ...rest } = filter;
    const upTo = state.upTo === 0 ? undefined : state.upTo;
    const query = { ...rest, run: attempt, sort, descending, page, size: pageSize, upTo };
    ask<RolloutPage>(runPath(run, 'rollouts', query))
      .then(({ rows, ...answered }) => {
        if (round !== state.round) return;
        state.upTo = answered.upTo;
        setProblem(undefined);
        setList(answered);
        setPages((before) => keep(before, page, rows, state));
        // The response was partial, because the server is still reading; the next one has more
        // rows.
        if (answered.progress) again(againMs);
      })
      .catch((error: unknown) => {
        if (round !== state.round) return;
        setProblem(messageOf(error));
        if (isWorthAgain(error)) again(afterErrorMs);
      });
  };
  /** Reloads the pages in view. Other pages are reloaded when they come into view. */
  const again = (ms: number): void => {
    const { round } = state;
    state.timer ??= setTimeout(() => {
      delete state.timer;
      if (round !== state.round) return;
      state.asked.clear();
      for (const page of state.wanted) load(page);
    }, ms);
  };
  const begin = (): void => {
    clearTimeout(state.timer);
    delete state.timer;
    setProblem(undefined);
    Object.assign(state, {
      asked: new Set<number>(),
      wanted: [0],
      round: state.round + 1,
      upTo: 0,
    });
    load(0);
  };
  useEffect(() => {
    begin();
    return () => void state.round++;
  }, []);
  const want = (wanted: readonly number[]): void => {
    if (state.upTo === 0) return;
    state.wanted = wanted;
    for (const page of wanted) if (!state.asked.has(page)) load(page);
  };
  return { pages, list, problem, want, refresh: begin };
}

/** Adds a page. Drops the oldest pages that are not in view, which are then asked for again. */
function keep(
  pages: Pages,
  page: number,
  rows: readonly Rollout[],
  { asked, wanted }: Pick<ListState, 'asked' | 'wanted'>,
): Pages {
  const next = new Map(pages);
  next.delete(page);
  next.set(page, rows);
  for (const oldest of next.keys()) {
    if (next.size <= keptPages) break;
    if (wanted.includes(oldest)) continue;
    next.delete(oldest);
    asked.delete(oldest);
  }
  return next;
}

interface TitlesProps {
  readonly columns: readonly ColumnName[];
  readonly filter: Place['query'];
  readonly onFilter: (changed: Place['query']) => void;
}

const help: Readonly<Partial<Record<ColumnName, string>>> = words.columnHelp;

const Titles = ({ columns, filter, onFilter }: TitlesProps) => (
  <div role="row" class="row head" aria-rowindex={1}>
    {columns.map((name) => {
      const { sort, isNumber } = specs[name];
      const isSorted = sort !== undefined && sort === (filter['sort'] ?? 'id');
      const isDescending = (filter['descending'] ?? 'true') === 'true';
      return (
        <span
          key={name}
          role="columnheader"
          class={isNumber ? 'number' : undefined}
          data-column={name}
          title={help[name]}
          aria-sort={isSorted ? (isDescending ? 'descending' : 'ascending') : undefined}
        >
          {sort === undefined ? (
            words.columns[name]
          ) : (
            <button
              type="button"
              onClick={() =>
                onFilter({ sort, descending: String(isSorted ? !isDescending : true) })
              }
            >
              {words.columns[name]}
              <span aria-hidden="true">{isSorted ? (isDescending ? ' ↓' : ' ↑') : ''}</span>
            </button>
          )}
        </span>
      );
    })}
  </div>
);

interface RowProps {
  readonly index: number;
  readonly start: number;
  readonly columns: readonly ColumnName[];
  readonly row: Rollout | undefined;
  readonly isChosen: boolean;
  readonly isActive: boolean;
  readonly onChoose: (index: number) => void;
}

function Row({ index, start, columns, row, isChosen, isActive, onChoose }: RowProps) {
  return (
    <div
      id={`row-${index}`}
      role="row"
      class={isActive ? 'row active' : 'row'}
      aria-rowindex={index + 2}
      aria-selected={isChosen}
      ref={(element) => element?.style.setProperty('transform', `translateY(${start}px)`)}
      onClick={() => onChoose(index)}
    >
      {columns.map((name, i) => {
        const { cell, title, isNumber } = specs[name];
        const shown = row ? cell(row) : i === 0 && words.loading;
        const text = typeof shown === 'string' ? shown : undefined;
        return (
          <span
            key={name}
            role="gridcell"
            data-column={name}
            class={isNumber ? 'number' : undefined}
            title={row && title ? title(row) : text}
          >
            {shown}
          </span>
        );
      })}
    </div>
  );
}
