/** Recorded rollouts of one run. */
import type { ListedRollout, RolloutDetail, RolloutPage } from '@trinity-rft/studio-api/interface';
import { useEffect, useState } from 'preact/hooks';
import { ask, runPath } from '../api.js';
import { numberText } from '../numbers.js';
import { RolloutView, type RelativesFilter } from '../parts/rollout-view.js';
import { useVirtualRows } from '../parts/virtual-rows.js';
import type { PageProps } from '../place.js';
import { texts } from '../texts.js';

const { rollouts: words } = texts;

type Filter = Readonly<Record<string, string>>;
const newestFirst: Filter = { sort: 'id', descending: 'true' };

export function Rollouts({ run, place }: PageProps) {
  const [filter, setFilter] = useState(newestFirst);
  const [chosen, setChosen] = useState<number>();
  const [id] = place.runs;
  if (id === undefined) return <p>{words.choose}</p>;
  const toRelatives = (relatives: RelativesFilter): void =>
    setFilter({ ...relatives, descending: String(relatives.sort === 'reward') });
  return (
    <div class="columns wide">
      <section aria-label={texts.pages.rollouts}>
        <p class="about">{words.about}</p>
        <FilterForm key={JSON.stringify(filter)} filter={filter} onFilter={setFilter} />
        <RolloutTable
          key={`${id} ${JSON.stringify(filter)}`}
          run={id}
          recorded={run?.rollouts}
          filter={filter}
          chosen={chosen}
          onChoose={setChosen}
        />
      </section>
      <section aria-label={words.tokens} aria-live="polite">
        <Chosen run={id} row={chosen} onRelatives={toRelatives} />
      </section>
    </div>
  );
}

const fields = [
  'text',
  'batch',
  'task',
  'minReward',
  'maxReward',
  'minVersion',
  'maxVersion',
] as const;

interface FilterFormProps {
  readonly filter: Filter;
  readonly onFilter: (filter: Filter) => void;
}

function FilterForm({ filter, onFilter }: FilterFormProps) {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement);
    onFilter(
      Object.fromEntries(
        [...given].map(([name, value]) => [name, typeof value === 'string' ? value : '']),
      ),
    );
  };
  return (
    <form class="controls" autocomplete="off" onSubmit={submit}>
      {fields.map((name) => (
        <label key={name}>
          {words.filters[name]}{' '}
          <input name={name} size={name === 'text' ? 20 : 5} defaultValue={filter[name] ?? ''} />
        </label>
      ))}
      {filter['run'] !== undefined && <input type="hidden" name="run" value={filter['run']} />}
      <label>
        {words.filters.sort}{' '}
        <select name="sort" defaultValue={filter['sort'] ?? 'id'}>
          {Object.entries(words.sorts).map(([name, label]) => (
            <option key={name} value={name} selected={name === filter['sort']}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <label>
        <input
          name="descending"
          type="checkbox"
          value="true"
          defaultChecked={filter['descending'] === 'true'}
        />{' '}
        {words.filters.descending}
      </label>
      <button type="submit">{words.apply}</button>
      <button type="button" onClick={() => onFilter({ ...newestFirst })}>
        {words.clear}
      </button>
    </form>
  );
}

interface RolloutTableProps {
  readonly run: string;
  /** Rows that the store has by now. */
  readonly recorded: number | undefined;
  readonly filter: Filter;
  readonly chosen: number | undefined;
  readonly onChoose: (id: number) => void;
}

const pageSize = 100;
const rowHeight = 28;

function RolloutTable({ run, recorded, filter, chosen, onChoose }: RolloutTableProps) {
  const [refresh, setRefresh] = useState(0);
  const { pages, matching, total, problem, want } = usePages(run, filter, refresh);
  const { items, height, scroller } = useVirtualRows(matching, rowHeight);
  const [from, to] = [items.at(0)?.index ?? 0, items.at(-1)?.index ?? 0];
  useEffect(() => {
    want(Math.floor(from / pageSize));
    want(Math.floor(to / pageSize));
  }, [from, to, refresh]);
  if (problem !== undefined) return <p role="alert">{problem}</p>;
  if (total !== undefined && matching === 0) return <p>{words.none}</p>;
  return (
    <>
      <p>
        {total !== undefined && words.of(matching, total)}{' '}
        {recorded !== undefined && total !== undefined && recorded > total && (
          <>
            {words.newer}{' '}
            <button type="button" onClick={() => setRefresh(refresh + 1)}>
              {words.refresh}
            </button>
          </>
        )}
      </p>
      <div
        ref={scroller}
        class="rows"
        role="table"
        aria-label={texts.pages.rollouts}
        aria-rowcount={matching + 1}
      >
        <div role="row" class="row head" aria-rowindex={1}>
          {words.columns.map((label) => (
            <span key={label} role="columnheader">
              {label}
            </span>
          ))}
        </div>
        <div
          role="rowgroup"
          class="body"
          ref={(element) => element?.style.setProperty('height', `${height}px`)}
        >
          {items.map(({ index, start }) => (
            <Row
              key={index}
              index={index}
              start={start}
              row={pages.get(Math.floor(index / pageSize))?.[index % pageSize]}
              chosen={chosen}
              onChoose={onChoose}
            />
          ))}
        </div>
      </div>
    </>
  );
}

type Pages = ReadonlyMap<number, readonly ListedRollout[]>;

/** Pages of rows, as they come into view. */
function usePages(run: string, filter: Filter, refresh: number) {
  const [pages, setPages] = useState<Pages>(new Map());
  const [counts, setCounts] = useState<{ matching: number; total?: number }>({ matching: 0 });
  const [problem, setProblem] = useState<string>();
  const [asked] = useState(new Set<number>());
  const want = (page: number): void => {
    if (asked.has(page)) return;
    asked.add(page);
    ask<RolloutPage>(runPath(run, 'rollouts', { ...filter, page, size: pageSize }))
      .then(({ rows, matching, total }) => {
        setPages((before) => new Map(before).set(page, rows));
        setCounts({ matching, total });
      })
      .catch((error: unknown) =>
        setProblem(error instanceof Error ? error.message : String(error)),
      );
  };
  useEffect(() => {
    asked.clear();
    setPages(new Map());
    want(0);
  }, [refresh]);
  return { pages, ...counts, problem, want };
}

interface RowProps {
  readonly index: number;
  readonly start: number;
  readonly row: ListedRollout | undefined;
  readonly chosen: number | undefined;
  readonly onChoose: (id: number) => void;
}

function Row({ index, start, row, chosen, onChoose }: RowProps) {
  const choose = (): void => row && onChoose(row.id);
  return (
    <div
      role="row"
      class="row"
      aria-rowindex={index + 2}
      aria-selected={row !== undefined && row.id === chosen}
      tabIndex={0}
      ref={(element) => element?.style.setProperty('transform', `translateY(${start}px)`)}
      onClick={choose}
      onKeyDown={({ key }) => key === 'Enter' && choose()}
    >
      {cellsOf(row).map((cell, i) => (
        <span key={i} role="cell" title={cell}>
          {cell}
        </span>
      ))}
    </div>
  );
}

function cellsOf(row: ListedRollout | undefined): readonly string[] {
  if (!row) return ['...'];
  const { uid, question, answer, reward, advantage, policyVersion, staleness } = row;
  const end = [row.truncated ?? row.finishReason, row.fork && `fork: ${row.fork}`];
  return [
    uid,
    question,
    answer,
    numberText(reward),
    numberText(advantage),
    String(policyVersion),
    numberText(staleness),
    `${row.promptTokens} + ${row.responseTokens}`,
    end.filter(Boolean).join(', '),
  ];
}

interface ChosenProps {
  readonly run: string;
  readonly row: number | undefined;
  readonly onRelatives: (filter: RelativesFilter) => void;
}

function Chosen({ run, row, onRelatives }: ChosenProps) {
  const [detail, setDetail] = useState<RolloutDetail>();
  useEffect(() => {
    if (row === undefined) return undefined;
    const left = new AbortController();
    ask<RolloutDetail>(runPath(run, `rollouts/${row}`), left.signal)
      .then(setDetail)
      .catch(() => undefined);
    return () => left.abort();
  }, [run, row]);
  if (!detail) return <p>{words.pick}</p>;
  return <RolloutView detail={detail} onRelatives={onRelatives} />;
}
