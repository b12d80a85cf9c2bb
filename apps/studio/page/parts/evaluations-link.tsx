/** Link to the same page of the run's evaluations, which are a separate run in the list. */
import { addressOf, type PageProps } from '../place.js';
import { words as frame } from '../words/frame.js';

export function EvaluationsLink({ place: { page, runs: chosen }, runs }: PageProps) {
  const id = `${chosen[0]}/evaluations`;
  if (!runs?.some((run) => run.id === id)) return null;
  return (
    <p>
      <a href={addressOf(page, [id])}>{frame.evaluations}</a>
    </p>
  );
}
