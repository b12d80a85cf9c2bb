/** Search and filters of the list of rollouts: a form, and a chip for each filter that is set. */
import { ListFilter, X } from 'lucide';
import { useEffect, useRef } from 'preact/hooks';
import type { RolloutPage } from '@trinity-rft/inspect/studio/interface';
import { runPath } from '../api.js';
import { Icon } from '../design/icon.js';
import { Menu } from '../parts/menu.js';
import { useAnswer } from '../parts/use-answers.js';
import type { Place } from '../place.js';
import { words } from '../words/rollouts.js';

interface RolloutFilterProps {
  readonly run: string;
  readonly filter: Place['query'];
  readonly onFilter: (filter: Place['query']) => void;
}

const fields = ['taskset', 'row', 'batch', 'task', 'attempt'] as const;
const ranges = Object.keys(words.ranges) as (keyof typeof words.ranges)[];
/** URL parameters that are not filters. */
const order = new Set(['sort', 'descending']);

export function RolloutFilter({ run, filter, onFilter }: RolloutFilterProps) {
  const change = (changed: Place['query']): void => onFilter({ ...filter, ...changed });
  const chips = chipsOf(filter);
  const search = useRef<HTMLInputElement>(null);
  const { text = '' } = filter;
  useEffect(() => {
    if (search.current) search.current.value = text;
  }, [text]);
  return (
    <>
      <form
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          change(readForm(event));
        }}
      >
        <input
          ref={search}
          name="text"
          type="search"
          autocomplete="off"
          aria-label={words.filters.text}
          placeholder={words.filters.text}
        />
      </form>
      <Menu icon={ListFilter} label={words.filter}>
        {(close) => (
          <FilterForm
            run={run}
            filter={filter}
            onFilter={(given) => {
              close();
              change(given);
            }}
          />
        )}
      </Menu>
      <button
        type="button"
        class="chip"
        aria-pressed={filter['problem'] === 'any'}
        onClick={() => change({ problem: filter['problem'] === 'any' ? '' : 'any' })}
      >
        {words.filters.problem}
      </button>
      {chips.map(({ text, without }) => (
        <button
          key={text}
          type="button"
          class="chip"
          aria-pressed="true"
          aria-label={words.without(text)}
          onClick={() => change(without)}
        >
          {text}
          <Icon of={X} />
        </button>
      ))}
      {chips.length > 1 && (
        <button
          type="button"
          class="quiet"
          onClick={() =>
            onFilter(Object.fromEntries(Object.entries(filter).filter(([name]) => order.has(name))))
          }
        >
          {words.clear}
        </button>
      )}
    </>
  );
}

interface Chip {
  readonly text: string;
  /** Query parameters that are set when the user removes the filter. */
  readonly without: Place['query'];
}

function chipsOf(filter: Place['query']): readonly Chip[] {
  const given = (name: string): string => filter[name] ?? '';
  const named = [...fields, 'tool'] as const;
  const problem = given('problem');
  return [
    ...ranges.flatMap((name): Chip[] => {
      const [least, most] = [given(`min${name}`), given(`max${name}`)];
      if (least === '' && most === '') return [];
      const text = words.range(words.ranges[name], least, most);
      return [{ text, without: { [`min${name}`]: '', [`max${name}`]: '' } }];
    }),
    ...named
      .filter((name) => given(name) !== '')
      .map((name) => ({
        text: `${words.filters[name]}: ${given(name)}`,
        without: { [name]: '' },
      })),
    ...(problem === '' || problem === 'any'
      ? []
      : [{ text: problemText(problem), without: { problem: '' } }]),
  ];
}

const problems: Readonly<Record<string, string>> = words.problems;
const problemText = (kind: string): string => problems[kind] ?? kind;

/** Text of each field of the form; empty for an unset field. */
function readForm(event: SubmitEvent): Place['query'] {
  const given = [...new FormData(event.currentTarget as HTMLFormElement)];
  return Object.fromEntries(
    given.map(([name, value]) => [name, typeof value === 'string' ? value.trim() : '']),
  );
}

function FilterForm({ run, filter, onFilter }: RolloutFilterProps) {
  const { answer } = useAnswer<RolloutPage>(runPath(run, 'rollouts', { minToolCalls: 1, size: 1 }));
  const tools = answer?.tools ?? [];
  return (
    <form
      class="filter"
      autocomplete="off"
      onSubmit={(event) => {
        event.preventDefault();
        onFilter(readForm(event));
      }}
    >
      <div class="ranges">
        {ranges.map((name) => (
          <fieldset key={name}>
            <legend>{words.ranges[name]}</legend>
            <Field name={`min${name}`} label={words.from} filter={filter} />
            <Field name={`max${name}`} label={words.to} filter={filter} />
          </fieldset>
        ))}
      </div>
      <div class="fields">
        <Choice
          name="problem"
          label={words.filters.problemKind}
          filter={filter}
          options={[['any', words.filters.problem], ...Object.entries(words.problems)]}
        />
        <Choice
          name="tool"
          label={words.filters.tool}
          filter={filter}
          options={[...new Set([...tools, filter['tool'] ?? ''])]
            .filter((name) => name !== '')
            .map((name) => [name, name])}
        />
        {fields.map((name) => (
          <label key={name}>
            {words.filters[name]}
            <input name={name} defaultValue={filter[name] ?? ''} />
          </label>
        ))}
      </div>
      <button type="submit" class="primary">
        {words.apply}
      </button>
    </form>
  );
}

interface FieldProps {
  readonly name: string;
  readonly label: string;
  readonly filter: Place['query'];
}

const Field = ({ name, label, filter }: FieldProps) => (
  <input
    name={name}
    inputMode="decimal"
    aria-label={label}
    placeholder={label}
    defaultValue={filter[name] ?? ''}
  />
);

interface ChoiceProps extends FieldProps {
  readonly options: readonly (readonly [value: string, text: string])[];
}

const Choice = ({ name, label, filter, options }: ChoiceProps) => (
  <label>
    {label}
    <select name={name} defaultValue={filter[name] ?? ''}>
      <option value="">{words.all}</option>
      {options.map(([value, text]) => (
        <option key={value} value={value} selected={value === filter[name]}>
          {text}
        </option>
      ))}
    </select>
  </label>
);
