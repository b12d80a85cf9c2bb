/** Page of the tasks with their first and latest rewards. */
import type { TaskPage } from '@trinity-rft/inspect/studio/interface';
import { ListChecks } from 'lucide';
import { useState } from 'preact/hooks';
import { runPath } from '../api.js';
import { Help } from '../design/help.js';
import { Empty, Problem, Skeleton } from '../design/states.js';
import { numberText } from '../numbers.js';
import { EvaluationsLink } from '../parts/evaluations-link.js';
import { useAnswers, whileReading } from '../parts/use-answers.js';
import { addressOf, type PageProps, type Place } from '../place.js';
import { words as frame } from '../words/frame.js';
import { words } from '../words/tasks.js';

type Task = TaskPage['rows'][number];

const pageSize = 100;
/** Time in ms between reloads while the run continues. */
const againMs = 5000;

/**
 * Loads the tasks up to the end of the last requested page, and reloads them while the run
 * continues.
 */
function useTasks(run: string | undefined, query: Place['query'], isRunning: boolean) {
  const [wanted, setWanted] = useState(1);
  const { sort = 'change', descending = 'true' } = query;
  const paths = Array.from({ length: run === undefined ? 0 : wanted }, (_, page) =>
    runPath(run ?? '', 'tasks', { sort, descending, page, size: pageSize }),
  );
  const { answers: pages, problem } = useAnswers<TaskPage>(
    paths,
    (found) => whileReading(found) ?? (isRunning ? againMs : undefined),
  );
  return { pages, problem, sort, descending, more: () => setWanted(wanted + 1) };
}

export function Tasks(props: PageProps) {
  const { place, run } = props;
  const [id] = place.runs;
  const { pages, problem, more, ...order } = useTasks(id, place.query, run?.state === 'running');
  const [newest] = pages;
  const rows = pages.flatMap((page) => page.rows);
  if (id === undefined) return <Empty icon={ListChecks} title={words.choose} />;
  return (
    <section aria-label={frame.pages.tasks}>
      {problem !== undefined && <Problem text={problem} />}
      {!newest && problem === undefined && <Skeleton lines={8} />}
      <div class="controls">
        <span role="status">{statusOf(newest)}</span>
        {newest && <Help of={frame.pages.tasks}>{words.about}</Help>}
        <EvaluationsLink {...props} />
      </div>
      {newest?.tasks === 0 && !newest.progress && (
        <Empty icon={ListChecks} title={words.none} text={words.noneText} />
      )}
      {rows.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label={frame.pages.tasks}>
          <table class="tasks">
            <Head place={place} {...order} />
            <tbody>
              {rows.map((task) => (
                <Row key={task.id} run={id} task={task} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {newest && rows.length < newest.tasks && (
        <p>
          <button type="button" onClick={more}>
            {words.more(rows.length, newest.tasks)}
          </button>
        </p>
      )}
    </section>
  );
}

function statusOf(page: TaskPage | undefined): string {
  if (!page) return '';
  const { tasks, better, worse, same, progress } = page;
  const counted = tasks === 0 ? '' : words.counts({ tasks, better, worse, same });
  return `${counted} ${progress ? words.reading(progress.done, progress.of) : ''}`.trim();
}

interface HeadProps {
  readonly place: Place;
  readonly sort: string;
  readonly descending: string;
}

const sortable = new Set(['times', 'first', 'latest', 'change']);

const Head = ({ place, sort, descending }: HeadProps) => (
  <thead>
    <tr>
      {Object.entries(words.columns).map(([name, label]) => {
        if (!sortable.has(name))
          return (
            <th key={name} scope="col">
              {label}
            </th>
          );
        const isSorted = name === sort;
        const isDescending = descending === 'true';
        const next = { sort: name, descending: String(isSorted ? !isDescending : true) };
        return (
          <th
            key={name}
            scope="col"
            aria-sort={isSorted ? (isDescending ? 'descending' : 'ascending') : undefined}
          >
            <a href={addressOf('tasks', place.runs, next)}>
              {label}
              <span aria-hidden="true">{isSorted ? (isDescending ? ' ↓' : ' ↑') : ''}</span>
            </a>
          </th>
        );
      })}
    </tr>
  </thead>
);

function Row({ run, task }: { readonly run: string; readonly task: Task }) {
  const { id, taskset = '', row, question, times, first, latest, change } = task;
  const query = { taskset, row: String(row), rollout: String(id), view: 'history' };
  return (
    <tr>
      <th scope="row">
        <a href={addressOf('rollouts', [run], query)}>{words.task(taskset, row)}</a>
      </th>
      <td>{question}</td>
      <td>{times}</td>
      <td>{numberText(first)}</td>
      <td>{numberText(latest)}</td>
      <td class={signOf(change)}>
        {change !== undefined && change > 0 ? `+${numberText(change)}` : numberText(change)}
      </td>
    </tr>
  );
}

const signOf = (change = 0): string | undefined =>
  change > 0 ? 'better' : change < 0 ? 'worse' : undefined;
