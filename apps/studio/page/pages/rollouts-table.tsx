/** The list of rollouts: a table of which only the rows in view are there. */
import type { ListedRollout, RolloutPage } from '@trinity-rft/inspect/studio/interface';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, runPath } from '../api.js';
import { numberText } from '../numbers.js';
import { useVirtualRows } from '../parts/virtual-rows.js';
import type { Place } from '../place.js';
import { words as frame } from '../words/frame.js';
import { words } from '../words/rollouts.js';

interface RolloutTableProps {
  readonly run: string;
  /** Rows that the store has by now. */
  readonly recorded: number | undefined;
  readonly filter: Place['query'];
  readonly chosen: number | undefined;
  readonly onChoose: (id: number) => void;
  readonly onFilter: (changed: Place['query']) => void;
}

const pageSize = 100;
const rowHeight = 28;
const columns = Object.keys(words.columns) as (keyof typeof words.columns)[];
const unsorted = new Set<string>(['question', 'answer', 'truth', 'problem']);

export function RolloutTable(props: RolloutTableProps) {
  const { run, recorded, filter, chosen, onChoose, onFilter } = props;
  const { pages, list, problem, want, refresh } = usePages(run, filter);
  const { matching = 0, total, progress } = list ?? {};
  const { items, height, scroller, show, fitting } = useVirtualRows(matching, rowHeight);
  const [active, setActive] = useState(0);
  const [from, to] = [items.at(0)?.index ?? 0, items.at(-1)?.index ?? 0];
  useEffect(() => {
    // Pages that are only scrolled past are not asked for.
    const timer = setTimeout(() => want([...pagesOf(from, to)]), 50);
    return () => clearTimeout(timer);
  }, [from, to, list?.upTo, matching]);
  if (problem !== undefined) return <p role="alert">{problem}</p>;
  const rowAt = (index: number): ListedRollout | undefined =>
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
  return (
    <>
      <p class="count" role="status">
        {total !== undefined &&
          (progress
            ? words.soFar(matching, progress.done, progress.of)
            : words.of(matching, total))}{' '}
        {recorded !== undefined && total !== undefined && recorded > total && (
          <>
            {words.newer}{' '}
            <button type="button" onClick={refresh}>
              {words.refresh}
            </button>
          </>
        )}
      </p>
      {total !== undefined && matching === 0 && !progress && <p>{words.none}</p>}
      <div
        ref={scroller}
        class="rows"
        role="grid"
        tabIndex={0}
        aria-label={frame.pages.rollouts}
        aria-rowcount={matching + 1}
        aria-activedescendant={isInView && matching > 0 ? `row-${active}` : undefined}
        onKeyDown={onKeyDown}
      >
        <Titles filter={filter} onFilter={onFilter} />
        <div
          role="rowgroup"
          class="body"
          ref={(element) => element?.style.setProperty('height', `${height}px`)}
        >
          {items.map(({ index, start }) => (
            <Row
              // Rows that leave the view are used again for those that come into it.
              key={index % items.length}
              index={index}
              start={start}
              row={rowAt(index)}
              isChosen={chosen !== undefined && rowAt(index)?.id === chosen}
              isActive={index === active}
              onChoose={choose}
            />
          ))}
        </div>
      </div>
    </>
  );
}

const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

function* pagesOf(from: number, to: number): Generator<number> {
  for (let page = Math.floor(from / pageSize); page * pageSize <= to; page++) yield page;
}

type Pages = ReadonlyMap<number, readonly ListedRollout[]>;

const keptPages = 40;
const againMs = 400;

/** Pages of rows, as they come into view. */
function usePages(run: string, filter: Place['query']) {
  const [pages, setPages] = useState<Pages>(new Map());
  const [list, setList] = useState<Omit<RolloutPage, 'rows'>>();
  const [problem, setProblem] = useState<string>();
  const { current: state } = useRef({ asked: new Set<number>(), round: 0, upTo: 0 });
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
        setList(answered);
        setPages((before) => keep(before, page, rows));
        // Not complete yet: the next answer has more.
        if (answered.progress) setTimeout(() => round === state.round && load(page), againMs);
      })
      .catch((error: unknown) =>
        setProblem(error instanceof Error ? error.message : String(error)),
      );
  };
  const begin = (): void => {
    Object.assign(state, { asked: new Set<number>(), round: state.round + 1, upTo: 0 });
    load(0);
  };
  useEffect(() => {
    begin();
    return () => void state.round++;
  }, []);
  const want = (wanted: readonly number[]): void => {
    if (state.upTo === 0) return;
    for (const page of wanted) if (!state.asked.has(page)) load(page);
    for (const page of state.asked)
      if (state.asked.size > keptPages && !wanted.includes(page)) state.asked.delete(page);
  };
  return { pages, list, problem, want, refresh: begin };
}

function keep(pages: Pages, page: number, rows: readonly ListedRollout[]): Pages {
  const next = new Map(pages);
  next.delete(page);
  next.set(page, rows);
  for (const oldest of next.keys()) if (next.size > keptPages) next.delete(oldest);
  return next;
}

interface TitlesProps {
  readonly filter: Place['query'];
  readonly onFilter: (changed: Place['query']) => void;
}

function Titles({ filter, onFilter }: TitlesProps) {
  const { sort = 'id', descending = 'true' } = filter;
  const help: Readonly<Record<string, string>> = words.columnHelp;
  return (
    <div role="row" class="row head" aria-rowindex={1}>
      {columns.map((name) => {
        if (unsorted.has(name))
          return (
            <span key={name} role="columnheader" title={help[name]}>
              {words.columns[name]}
            </span>
          );
        const isSorted = name === sort;
        const isDescending = descending === 'true';
        const next = isSorted ? !isDescending : true;
        return (
          <span
            key={name}
            role="columnheader"
            title={help[name]}
            aria-sort={isSorted ? (isDescending ? 'descending' : 'ascending') : undefined}
          >
            <button
              type="button"
              onClick={() => onFilter({ sort: name, descending: String(next) })}
            >
              {words.columns[name]}
              <span aria-hidden="true">{isSorted ? (isDescending ? ' ↓' : ' ↑') : ''}</span>
            </button>
          </span>
        );
      })}
    </div>
  );
}

interface RowProps {
  readonly index: number;
  readonly start: number;
  readonly row: ListedRollout | undefined;
  readonly isChosen: boolean;
  readonly isActive: boolean;
  readonly onChoose: (index: number) => void;
}

function Row({ index, start, row, isChosen, isActive, onChoose }: RowProps) {
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
      {cellsOf(row).map((cell, i) => (
        <span key={i} role="gridcell" title={cell}>
          {cell}
        </span>
      ))}
    </div>
  );
}

function cellsOf(row: ListedRollout | undefined): readonly string[] {
  if (!row) return columns.map((_, i) => (i === 0 ? words.loading : ''));
  const {
    uid,
    question,
    answer,
    truth = '',
    reward,
    advantage,
    policyVersion,
    staleness,
    problem,
  } = row;
  return [
    uid,
    question,
    answer,
    truth,
    numberText(reward),
    numberText(advantage),
    String(policyVersion),
    numberText(staleness),
    `${row.promptTokens} + ${row.responseTokens}`,
    row.toolCalls === 0 ? '' : String(row.toolCalls),
    problem ?? '',
  ];
}
