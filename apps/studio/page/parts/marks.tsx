/** Events of the runs: a choice of the kinds to draw in charts, and a table of all events. */
import type { Mark } from '@trinity-rft/inspect/studio/interface';
import { useState } from 'preact/hooks';
import { TitleRow } from '../design/title-row.js';
import type { RunMarks } from '../metrics.js';
import { numberText } from '../numbers.js';
import { words } from '../words/marks.js';
import { words as runsWords } from '../words/runs.js';
import type { ChartMark } from './chart.js';

export type Kind = Mark['kind'];

const colours: Readonly<Record<Kind, string>> = {
  checkpoint: '#8a8f98',
  weights: '#2a78d6',
  evaluation: '#2e8540',
  restart: '#c77700',
  failure: '#c0392b',
};
const allKinds = Object.keys(colours) as readonly Kind[];
/** Kinds that are drawn by default: all but new weights, which occur in nearly every step. */
export const firstKinds = allKinds.filter((kind) => kind !== 'weights');

export const chartMarks = (
  runs: readonly RunMarks[],
  kinds: readonly Kind[],
): readonly ChartMark[] =>
  runs
    .flatMap(({ marks }) => marks.marks)
    .filter(({ kind }) => kinds.includes(kind))
    .map(({ kind, x }) => ({ x, colour: colours[kind], isShort: kind === 'weights' }));

interface MarkChoiceProps {
  readonly marks: readonly RunMarks[];
  readonly chosen: readonly Kind[];
  readonly onChange: (kinds: readonly Kind[]) => void;
}

export function MarkChoice({ marks, chosen, onChange }: MarkChoiceProps) {
  const count = (kind: Kind): number =>
    marks.reduce((sum, { marks: { counts } }) => sum + (counts[kind] ?? 0), 0);
  const there = allKinds.filter((kind) => count(kind) > 0);
  if (there.length === 0) return null;
  return (
    <fieldset class="controls marks">
      <legend>{words.title}</legend>
      {there.map((kind) => (
        <label key={kind}>
          <input
            type="checkbox"
            checked={chosen.includes(kind)}
            onChange={() =>
              onChange(
                chosen.includes(kind) ? chosen.filter((each) => each !== kind) : [...chosen, kind],
              )
            }
          />{' '}
          <span class="swatch" style={{ '--colour': colours[kind] }} /> {words.kinds[kind]} (
          {count(kind)})
        </label>
      ))}
    </fieldset>
  );
}

interface MarkTableProps {
  readonly marks: readonly RunMarks[];
  readonly chosen: readonly Kind[];
  /** Label of the x axis. */
  readonly axis: string;
}

export function MarkTable({ marks, chosen, axis }: MarkTableProps) {
  const [isOpen, setOpen] = useState(false);
  if (marks.every(({ marks: { marks: ofRun } }) => ofRun.length === 0)) return null;
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{words.all}</summary>
      {isOpen && <OpenTable marks={marks} chosen={chosen} axis={axis} />}
    </details>
  );
}

/** Table of events, latest first, so that a failure is on top. */
function OpenTable({ marks, chosen, axis }: MarkTableProps) {
  const all = marks
    .flatMap(({ run, marks: { marks: ofRun } }) => ofRun.map((mark) => ({ run, ...mark })))
    .filter(({ kind }) => chosen.includes(kind))
    .toSorted((a, b) => b.x - a.x);
  return (
    <table>
      <TitleRow titles={[axis, words.kind, words.text, runsWords.columns.name]} />
      <tbody>
        {all.map(({ run, kind, x, text }, i) => (
          <tr key={i}>
            <td>{numberText(x)}</td>
            <td>{words.kinds[kind]}</td>
            <td>{kind === 'restart' || kind === 'failure' ? text : words.version(text)}</td>
            <td>{run}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
