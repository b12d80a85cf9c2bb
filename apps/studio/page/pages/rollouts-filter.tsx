/** The form that cuts the list of rollouts. */
import type { Place } from '../place.js';
import { words } from '../words/rollouts.js';

interface RolloutFilterProps {
  readonly filter: Place['query'];
  readonly onFilter: (filter: Place['query']) => void;
}

const more = ['task', 'attempt', 'taskset', 'row'] as const;
const ranges = Object.keys(words.ranges) as (keyof typeof words.ranges)[];

export function RolloutFilter({ filter, onFilter }: RolloutFilterProps) {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const given = [...new FormData(event.currentTarget as HTMLFormElement)];
    const { sort = '', descending = '' } = filter;
    const text = given.map(([name, value]) => [
      name,
      typeof value === 'string' ? value.trim() : '',
    ]);
    onFilter({ sort, descending, ...(Object.fromEntries(text) as Place['query']) });
  };
  const usesMore = [...more, ...ranges.flatMap((name) => [`min${name}`, `max${name}`])].some(
    (name) => (filter[name] ?? '') !== '',
  );
  return (
    <form class="filter" autocomplete="off" onSubmit={submit}>
      <div class="controls">
        <Field name="text" label={words.filters.text} size={24} filter={filter} />
        <Field name="batch" label={words.filters.batch} size={5} filter={filter} />
        <label>
          <input
            name="problem"
            type="checkbox"
            value="true"
            defaultChecked={filter['problem'] === 'true'}
          />{' '}
          {words.filters.problem}
        </label>
        <button type="submit">{words.apply}</button>
        <button type="button" onClick={() => onFilter({})}>
          {words.clear}
        </button>
      </div>
      <details open={usesMore}>
        <summary>{words.more}</summary>
        <div class="controls">
          {more.map((name) => (
            <Field key={name} name={name} label={words.filters[name]} size={6} filter={filter} />
          ))}
        </div>
        <div class="ranges">
          {ranges.map((name) => (
            <fieldset key={name}>
              <legend>{words.ranges[name]}</legend>
              <Field name={`min${name}`} label={words.from} size={5} filter={filter} />
              <Field name={`max${name}`} label={words.to} size={5} filter={filter} />
            </fieldset>
          ))}
        </div>
      </details>
    </form>
  );
}

interface FieldProps {
  readonly name: string;
  readonly label: string;
  readonly size: number;
  readonly filter: Place['query'];
}

const Field = ({ name, label, size, filter }: FieldProps) => (
  <label>
    {label} <input name={name} size={size} defaultValue={filter[name] ?? ''} />
  </label>
);
