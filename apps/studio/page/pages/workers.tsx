/** Page that shows which process waits for which: as a graph, as wait chains and as a table. */
import type { RunSummary } from '@trinity-rft/inspect/studio/interface';
import { TitleRow } from '../design/title-row.js';
import type { Processes as Status } from '../../src/control/interface/index.js';
import { CircleCheck, Cpu } from 'lucide';
import { runPath } from '../api.js';
import { Help } from '../design/help.js';
import { Empty, Problem, Skeleton } from '../design/states.js';
import { answerMs, useAnswers } from '../parts/use-answers.js';
import { addressOf, type PageProps } from '../place.js';
import { words as frame } from '../words/frame.js';
import { words } from '../words/workers.js';
import { words as runsWords } from '../words/runs.js';
import { pictureOf } from './workers/graph.js';

type Member = Status['members'][number];
type Link = Status['chains'][number][number];

/** Polling interval in milliseconds, equal to the heartbeat interval of processes. */
const everyMs = 1000;

function useProcesses(run: string | undefined): Status | undefined {
  const paths = run === undefined ? [] : [runPath(run, 'processes')];
  const again = run === undefined ? undefined : everyMs;
  const { answers, problem } = useAnswers<Status>(paths, () => again, answerMs);
  return problem === undefined ? answers[0] : { problem, members: [], chains: [] };
}

/** Status of a run whose processes have ended. */
function Ended({ run }: { readonly run: RunSummary }) {
  const { id, state, steps, failure } = run;
  return (
    <>
      {failure !== undefined && <Problem text={failure} />}
      <Empty icon={CircleCheck} title={words.noProcess} text={words.over}>
        <p role="status" class="verdict">
          {runsWords.states[state]}
          {steps && `: ${runsWords.progress(steps.done, steps.total)}`}
        </p>
        <a class="button" href={addressOf('metrics', [id], { metric: words.duration })}>
          {words.durations}
        </a>
      </Empty>
    </>
  );
}

const isOver = ({ state }: RunSummary): boolean => state !== 'running' && state !== 'unknown';

export function Workers({ place, run }: PageProps) {
  const [id] = place.runs;
  const status = useProcesses(id);
  if (id === undefined) return <Empty icon={Cpu} title={words.choose} />;
  return (
    <section aria-label={frame.pages.workers}>
      {status === undefined && <Skeleton lines={6} />}
      {status?.problem !== undefined &&
        (run && isOver(run) ? (
          <Ended run={run} />
        ) : (
          <Empty
            icon={Cpu}
            title={run?.state === 'running' ? words.noStatus : words.noProcess}
            text={status.problem}
          />
        ))}
      {status !== undefined && status.problem === undefined && <Live status={status} />}
    </section>
  );
}

function Live({ status }: { readonly status: Status }) {
  const steps = [
    status.exploreStep !== undefined && words.exploreStep(status.exploreStep),
    status.trainStep !== undefined && words.trainStep(status.trainStep),
    status.staleness !== undefined && words.staleness(status.staleness),
  ].filter((text) => text !== false);
  return (
    <>
      <div class="controls">
        {steps.join(' · ')}
        <Help of={frame.pages.workers}>{words.about}</Help>
      </div>
      <p role="status" class="callout verdict">
        {verdict(status)}
      </p>
      <Drawing status={status} />
      <h2>{words.why}</h2>
      <Chains status={status} />
      <Members members={status.members} />
    </>
  );
}

/**
 * Describes the causes of the waits. The text contains no waiting times, so screen readers only
 * repeat it when the causes change.
 */
function verdict({ chains, endedAt }: Status): string {
  if (chains.length === 0) return endedAt === undefined ? words.none : words.ended(endedAt);
  const causes = chains.flatMap((chain) => {
    const last = chain.at(-1);
    return last === undefined ? [] : [words.causes[last.state](nameOf(last))];
  });
  return [...new Set(causes)].join(' ');
}

const nameOf = ({ name, role }: Pick<Link, 'name' | 'role'>): string =>
  name === undefined || name === role ? role : `${role} ${name}`;

function Drawing({ status }: { readonly status: Status }) {
  const { boxes, arrows, width, height } = pictureOf(status, {
    box: (member) => [nameOf(member), `${words.health[member.health]}${versionOf(member)}`],
    missing: (role) => [role, words.missing],
    outside: [words.outside],
    arrow: (what, forMs) => `${what}, ${words.seconds(forMs)}`,
  });
  if (boxes.length === 0) return null;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={words.picture}>
      <svg class="waits" role="img" aria-label={words.picture} {...{ width, height }}>
        <defs>
          <marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" orient="auto">
            <path d="M0 0 L8 4 L0 8 z" />
          </marker>
        </defs>
        {arrows.map(({ id, path, label, x, y }) => (
          <g key={id}>
            <path class="arrow" d={path} marker-end="url(#head)" />
            <text class="label" x={x} y={y + 4} text-anchor="middle">
              {label}
            </text>
          </g>
        ))}
        {boxes.map(({ id, kind, isCause, lines, ...at }) => (
          <g key={id} class={`box ${kind}${isCause ? ' cause' : ''}`}>
            <rect rx="6" {...at} />
            {lines.map((line, i) => (
              <text key={line} x={at.x + at.width / 2} y={at.y + 25 + i * 18} text-anchor="middle">
                {line}
              </text>
            ))}
          </g>
        ))}
      </svg>
    </div>
  );
}

const versionOf = ({ version }: Member): string => (version < 0 ? '' : words.weights(version));

function Chains({ status: { chains, endedAt } }: { readonly status: Status }) {
  if (chains.length === 0)
    return <p>{endedAt === undefined ? words.none : words.ended(endedAt)}</p>;
  return (
    <>
      {chains.map((chain, i) => (
        <ol key={i} class="chain">
          {chain.map((link, depth) => (
            <li key={depth} class={link.state}>
              {link.asked && words.waitsFor(link.asked.what, words.seconds(link.asked.forMs))}
              {depth === chain.length - 1 ? words.causes[link.state](nameOf(link)) : nameOf(link)}
            </li>
          ))}
        </ol>
      ))}
    </>
  );
}

function Members({ members }: { readonly members: readonly Member[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={words.table}>
      <table>
        <caption>{words.table}</caption>
        <TitleRow titles={words.columns} />
        <tbody>
          {members.map((member) => (
            <tr key={member.name}>
              <th scope="row">{nameOf(member)}</th>
              <td>{words.processOn(member.pid, member.host)}</td>
              <td>
                {member.health === 'silent' ? silence(member) : words.health[member.health]}
                {member.problem !== undefined && <div class="failure">{member.problem}</div>}
              </td>
              <td>{member.version < 0 ? '' : member.version}</td>
              <td>
                {member.waits.map(({ what, on, forMs }) => (
                  <div key={what}>{words.waits(what, on, words.seconds(forMs))}</div>
                ))}
              </td>
              <td>{member.tasks.join(', ')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function silence({ silentForMs, process }: Member): string {
  return `${words.health.silent} ${words.seconds(silentForMs)}: ${words.silence[process ?? 'elsewhere']}`;
}
