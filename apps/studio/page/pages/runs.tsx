/** Page of all runs. */
import type { RunNotes, RunSummary } from '@trinity-rft/inspect/studio/interface';
import { Pencil } from 'lucide';
import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { act, actionPath, messageOf } from '../api.js';
import { Help } from '../design/help.js';
import { Icon } from '../design/icon.js';
import { Search } from '../design/search.js';
import { Empty, Skeleton } from '../design/states.js';
import { mostRuns } from '../metrics.js';
import { agoText, durationText, intervalText, numberText } from '../numbers.js';
import { RunControl } from '../parts/run-control.js';
import { Sparkline } from '../parts/sparkline.js';
import { addressOf, type PageProps } from '../place.js';
import { words as frame } from '../words/frame.js';
import { words } from '../words/runs.js';

export function Runs({ runs, left }: PageProps) {
  const [picked, setPicked] = useState<readonly string[]>([]);
  const [search, setSearch] = useState('');
  const pick = (id: string): void =>
    setPicked((before) =>
      before.includes(id) ? before.filter((each) => each !== id) : [...before, id],
    );
  if (runs === undefined) return <Skeleton lines={6} />;
  if (runs.length === 0) return <NoRuns />;
  const found = runs.filter((run) => isFound(run, search));
  return (
    <section aria-label={frame.pages.runs}>
      {left > 0 && <p class="callout">{words.notAll(runs.length, left)}</p>}
      <div class="controls">
        <Search label={words.search} value={search} onInput={setSearch} />
        <Help of={frame.pages.runs}>{words.about}</Help>
        {picked.length > 1 && picked.length <= mostRuns && (
          <a class="button primary" href={addressOf('compare', picked)}>
            {words.compare(picked.length)}
          </a>
        )}
        {picked.length > mostRuns && <span>{words.tooMany(mostRuns)}</span>}
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label={frame.pages.runs}>
        <table>
          <thead>
            <tr>
              {Object.entries(words.columns).map(([name, label]) => (
                <th key={name} scope="col" class={minor.includes(name) ? 'minor' : undefined}>
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {grouped(found).map(({ folder, members }) => (
              <Fragment key={folder}>
                {members.length > 1 && (
                  <tr class="group">
                    <td />
                    <th scope="rowgroup" colSpan={Object.keys(words.columns).length - 1}>
                      <Name id={folder} />
                    </th>
                  </tr>
                )}
                {members.map((run) => (
                  <RunRow
                    key={run.id}
                    run={run}
                    folder={members.length > 1 ? folder : ''}
                    isPicked={picked.includes(run.id)}
                    onPick={pick}
                  />
                ))}
              </Fragment>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Columns that are hidden in a narrow window. */
const minor: readonly string[] = ['modelCalls', 'notes'];

const NoRuns = () => (
  <Empty title={words.none} text={words.noneText} command="trinity run FILE.yaml">
    <a class="button primary" href={addressOf('builder', [])}>
      {frame.pages.builder}
    </a>
  </Empty>
);

interface Group {
  /**
   * Common path of the group's runs, with a trailing slash; for a run directly in the served
   * folder, its id.
   */
  readonly folder: string;
  readonly members: readonly RunSummary[];
}

/** Groups stages and evaluations of a run. The group that changed last comes first. */
function grouped(runs: readonly RunSummary[]): readonly Group[] {
  const folderOf = (id: string): string => {
    const run = id.replace(/\/evaluations$/, '');
    return run.slice(0, run.lastIndexOf('/') + 1);
  };
  const groups = Map.groupBy(runs, ({ id }) => folderOf(id) || id);
  return [...groups].map(([folder, members]) => ({ folder, members }));
}

/** Path that is wrapped at slashes only. */
function Name({ id }: { readonly id: string }) {
  const parts = id.split(/(?<=\/)/);
  return (
    <>
      {parts.map((part, i) => (
        <Fragment key={i}>
          <span class="part">{part}</span>
          <wbr />
        </Fragment>
      ))}
    </>
  );
}

/** True if id, tags or note contain the search text. */
function isFound({ id, notes: { tags, note } }: RunSummary, search: string): boolean {
  const wanted = search.toLowerCase();
  return [id, note, ...tags].some((text) => text.toLowerCase().includes(wanted));
}

interface RunRowProps {
  readonly run: RunSummary;
  /** Folder of the group, shown above the row; empty in a group of one run. */
  readonly folder: string;
  readonly isPicked: boolean;
  readonly onPick: (id: string) => void;
}

function RunRow({ run, folder, isPicked, onPick }: RunRowProps) {
  const { id, state, reward, evaluation, sparkline, modelCalls } = run;
  return (
    <tr>
      <td>
        <input
          type="checkbox"
          aria-label={`${words.columns.pick} ${id}`}
          checked={isPicked}
          onChange={() => onPick(id)}
        />
      </td>
      <th scope="row" class={folder === '' ? 'name' : 'name inner'}>
        <a href={addressOf('overview', [id])}>
          {folder !== '' && <span class="hidden">{folder}</span>}
          <Name id={id.slice(folder.length)} />
        </a>
      </th>
      <td>
        <span class={`state ${state}`}>{words.states[state]}</span>
        {run.failure !== undefined && (
          <div class="failure" title={run.failure}>
            {run.failure.split('[cause]:').at(-1)}
          </div>
        )}
        <RunControl run={run} />
      </td>
      <td>
        <Left run={run} />
      </td>
      <td title={evaluation?.metric}>{intervalText(evaluation)}</td>
      <td class="reward">
        <Sparkline values={sparkline} /> {numberText(reward)}
        {sparkline.length > 1 && <div class="faint">{words.first(numberText(sparkline[0]))}</div>}
      </td>
      <td class="recorded minor">
        {modelCalls !== undefined && (
          <a href={addressOf('rollouts', [id])}>
            {modelCalls}
            <span class="hidden"> {words.columns.modelCalls}</span>
          </a>
        )}
      </td>
      <td>{agoText(run.changedAt)}</td>
      <td class="minor">
        <Notes id={id} notes={run.notes} />
      </td>
    </tr>
  );
}

/** Progress of a run, and its estimated remaining time. */
function Left({ run }: { readonly run: RunSummary }) {
  const { id, state, steps, secondsPerStep, noTotal, trainStep, exploreStep } = run;
  const step = trainStep ?? exploreStep;
  if (!steps)
    return (
      <>
        {step !== undefined && words.step(step)}
        {state === 'running' && noTotal !== undefined && (
          <div class="faint">
            <small>{words.noTotal[noTotal]}</small>
          </div>
        )}
      </>
    );
  const { done, total } = steps;
  const seconds = (secondsPerStep ?? 0) * (total - done);
  return (
    <>
      <progress value={done} max={total} aria-label={words.progressOf(id)} />{' '}
      <span class="faint">{words.progress(done, total)}</span>
      {state === 'running' && seconds > 0 && <div>{words.left(durationText(seconds))}</div>}
    </>
  );
}

interface NotesProps {
  readonly id: string;
  readonly notes: RunNotes;
}

function Notes({ id, notes }: NotesProps) {
  const [isOpen, setOpen] = useState(false);
  if (isOpen) return <NotesForm id={id} notes={notes} onDone={() => setOpen(false)} />;
  return (
    <>
      {notes.tags.map((tag) => (
        <span key={tag} class="tag">
          {tag}
        </span>
      ))}
      <span class="note">{notes.note}</span>{' '}
      <button
        type="button"
        class="quiet icon-only"
        aria-label={`${words.notes.edit} ${words.notes.editOf(id)}`}
        title={words.notes.edit}
        onClick={() => setOpen(true)}
      >
        <Icon of={Pencil} />
      </button>
    </>
  );
}

function NotesForm({ id, notes, onDone }: NotesProps & { readonly onDone: () => void }) {
  const [problem, setProblem] = useState('');
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string): string => {
      const value = given.get(name);
      return typeof value === 'string' ? value : '';
    };
    const tags = text('tags')
      .split(',')
      .map((tag) => tag.trim())
      .filter((tag) => tag !== '');
    act(actionPath(id, 'notes'), { tags, note: text('note') })
      .then(onDone)
      .catch((error: unknown) => setProblem(messageOf(error)));
  };
  return (
    <form class="notes" onSubmit={submit}>
      <label>
        {words.notes.tags} <input name="tags" defaultValue={notes.tags.join(', ')} />
      </label>
      <label>
        {words.notes.note} <textarea name="note" rows={3} defaultValue={notes.note} />
      </label>
      {problem !== '' && <p class="problem">{problem}</p>}
      <button type="submit">{words.notes.save}</button>{' '}
      <button type="button" onClick={onDone}>
        {words.notes.cancel}
      </button>
    </form>
  );
}
