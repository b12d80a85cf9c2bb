/** Result of a verification as text. */
import type { Verification, VerifiedVersion } from './report.js';

/** Renders one table per store, then the verdict in one line. Ends with a line break. */
export function renderVerification(verification: Verification): string {
  const { stores, checkedTokens, uncheckedTokens, largest, tolerance, ok } = verification;
  const tables = stores.map(({ database, versions }) =>
    [database, ...versions.filter(isChecked).map(row), ...uncheckedRows(versions)].join('\n'),
  );
  const all = checkedTokens + uncheckedTokens;
  const share = `${checkedTokens} of ${all} recorded tokens checked`;
  const verdict =
    checkedTokens === 0
      ? 'Nothing could be checked.'
      : `Largest difference ${largest.toExponential(2)}, ${ok ? 'within' : 'ABOVE'} the tolerance ${tolerance.toExponential(0)}.`;
  return `${tables.join('\n\n')}\n\n${share}. ${verdict}\n`;
}

const isChecked = ({ unchecked }: VerifiedVersion): boolean => unchecked === undefined;

function row({ policyVersion, tokens, largest = 0, mean = 0, worst }: VerifiedVersion): string {
  const where =
    worst && largest > 0 ? `  ${worst.uid}, call ${worst.step}, response token ${worst.token}` : '';
  return `  version ${String(policyVersion).padStart(5)}  ${String(tokens).padStart(8)} tokens  largest ${largest.toExponential(2)}  mean ${mean.toExponential(2)}${where}`;
}

/**
 * Returns one line per reason why versions were not checked. Reasons that differ only in a step
 * number are merged.
 */
function uncheckedRows(versions: readonly VerifiedVersion[]): readonly string[] {
  const skipped = versions.filter((version) => !isChecked(version));
  const reasons = Map.groupBy(skipped, ({ unchecked = '' }) => unchecked.replace(/_\d+:/, '_*:'));
  return [...reasons].map(([reason, members]) => {
    const tokens = members.reduce((sum, version) => sum + version.tokens, 0);
    const names = members.map(({ policyVersion }) => policyVersion);
    const which =
      names.length > 6 ? `${names.slice(0, 3).join(', ')} ... ${names.at(-1)}` : names.join(', ');
    return `  not checked: ${members.length} version${members.length > 1 ? 's' : ''} (${which}), ${tokens} tokens: ${reason}`;
  });
}
