/** All runs. */
import type { RunSummary } from '@trinity-rft/studio-api/interface';
import { useState } from 'preact/hooks';
import { agoText, numberText } from '../numbers.js';
import { Sparkline } from '../parts/sparkline.js';
import { addressOf, type PageProps } from '../place.js';
import { texts } from '../texts.js';

const { runs: words } = texts;

export function Runs({ runs, place }: PageProps) {
  const [picked, setPicked] = useState<readonly string[]>(place.runs);
  const pick = (id: string): void =>
    setPicked((before) =>
      before.includes(id) ? before.filter((each) => each !== id) : [...before, id],
    );
  if (runs?.length === 0) return <p>{words.none}</p>;
  return (
    <section aria-label={texts.pages.runs}>
      <p class="about">{words.about}</p>
      {picked.length > 1 && (
        <p>
          <a class="button" href={addressOf('curves', picked)}>
            {words.compare}
          </a>
        </p>
      )}
      <div class="scroll" tabIndex={0} role="region" aria-label={texts.pages.runs}>
        <table>
          <thead>
            <tr>
              {Object.entries(words.columns).map(([name, label]) => (
                <th key={name} scope="col">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {(runs ?? []).map((run) => (
              <RunRow key={run.id} run={run} isPicked={picked.includes(run.id)} onPick={pick} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

interface RunRowProps {
  readonly run: RunSummary;
  readonly isPicked: boolean;
  readonly onPick: (id: string) => void;
}

function RunRow({ run, isPicked, onPick }: RunRowProps) {
  const { id, state, exploreStep, trainStep, version, reward, sparkline, rollouts } = run;
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
      <th scope="row">
        <a href={addressOf('curves', [id])}>{id}</a>
      </th>
      <td>
        <span class={`state ${state}`}>{words.states[state]}</span>
        {run.failure !== undefined && <div class="failure">{run.failure}</div>}
      </td>
      <td>{numberText(exploreStep)}</td>
      <td>{numberText(trainStep)}</td>
      <td>{numberText(version)}</td>
      <td>{numberText(reward)}</td>
      <td>
        <Sparkline values={sparkline} />
      </td>
      <td>
        {rollouts !== undefined && (
          <a href={addressOf('rollouts', [id])}>
            {rollouts}
            <span class="hidden"> {texts.pages.rollouts}</span>
          </a>
        )}
      </td>
      <td>{agoText(run.changedAt)}</td>
    </tr>
  );
}
