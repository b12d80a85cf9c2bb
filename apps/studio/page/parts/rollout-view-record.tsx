/** Recorded values of a rollout: facts, uses in train steps, metrics, reasons, info and text. */
import type { RolloutDetail } from '@trinity-rft/inspect/studio/interface';
import { numberText } from '../numbers.js';
import { words } from '../words/rollouts.js';
import { FactList } from './rollout-view-facts.js';

export function RecordView(detail: RolloutDetail) {
  const { uid, reward, policyVersion, temperature, problem, taskset, row, truth, uses } = detail;
  const facts = {
    [words.facts.uid]: uid,
    [words.facts.reward]: numberText(reward),
    [words.facts.truth]: truth,
    [words.facts.version]: policyVersion,
    [words.facts.temperature]: temperature,
    [words.facts.problem]: problem,
    [words.facts.taskset]: taskset,
    [words.facts.row]: row,
  };
  const { reasons, truth: _, times: __, ...info } = detail.info;
  return (
    <>
      <FactList facts={facts} />
      <h3>{words.uses}</h3>
      {uses.length === 0 && <p>{words.unused}</p>}
      <ul>
        {uses.map(({ trainStep, dropped, advantage }) => (
          <li key={trainStep}>
            {words.use(trainStep, dropped)}
            {advantage === undefined ? '' : `, ${words.facts.advantage} ${numberText(advantage)}`}
          </li>
        ))}
      </ul>
      <h3>{words.metrics}</h3>
      <FactList facts={detail.metrics} />
      {typeof reasons === 'object' && reasons !== null && (
        <>
          <h3>{words.reasons}</h3>
          <FactList facts={reasons as Readonly<Record<string, unknown>>} />
        </>
      )}
      <h3>{words.info}</h3>
      <FactList facts={info} />
      <h3>{words.texts}</h3>
      {[detail.promptText, detail.responseText].map(
        (text, i) =>
          text !== undefined && (
            <pre key={i} class="said" tabIndex={0}>
              {text}
            </pre>
          ),
      )}
    </>
  );
}
