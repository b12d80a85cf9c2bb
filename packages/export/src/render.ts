import { existsSync } from 'node:fs';
import path from 'node:path';
import { alignColumns, peerInstall, shellText } from '@trinity-rft/core/support';
import type { CheckResult } from './check/check-export.js';
import type { Share } from './check/compare.js';
import type { MergeLoss } from './check/merge-loss.js';
import type { ExportReport, RewardComparison } from './export-model.js';
import type { FormatName } from './format/formats.js';
import { chatPeers } from './chat-program.js';
import { megabytes } from './room.js';

/**
 * Renders the report as the lines that `trinity export` prints.
 * @param directory folder of the export, as the user named it
 */
export function renderExport(report: ExportReport, directory: string): string {
  const { name, format, numbers, bytes, file, notes, check } = report;
  return [
    `${name} as ${format} (${numbers}), ${megabytes(bytes)}: ${path.join(directory, file)}`,
    ...(report.mergeLoss ? [lossLine(report.mergeLoss)] : []),
    ...(check ? checkLines(check) : []),
    ...(report.rewards ?? []).map(rewardLine),
    ...notes,
    ...(report.adapterOnly
      ? [adapterLine(report, directory)]
      : tryLines(format, path.join(directory, 'chat.mjs'))),
  ]
    .join('\n')
    .concat('\n');
}

function tryLines(format: FormatName, program: string): readonly string[] {
  const peer = chatPeers[format];
  return [
    `Try it: node ${shellText(program)} "..."`,
    ...(peer === undefined || isInstalled(peer, program)
      ? []
      : [`It needs ${peer}: ${peerInstall(peer)}`]),
  ];
}

function adapterLine({ format, file }: ExportReport, directory: string): string {
  const place = path.join(directory, file);
  return format === 'gguf'
    ? `Try it beside the GGUF file of its base model: trinity serve --model ${shellText(`NAME=BASE.gguf+${place}`)}, or loadModel('BASE.gguf', { adapter: ${JSON.stringify(place)} }).`
    : `Try it beside its base model in PEFT: PeftModel.from_pretrained(base, ${JSON.stringify(directory)}).`;
}

/** Returns true if the package is in a folder `node_modules` beside the file or above it. */
function isInstalled(name: string, file: string): boolean {
  const folder = path.dirname(path.resolve(file));
  if (existsSync(path.join(folder, 'node_modules', name))) return true;
  return folder !== path.dirname(folder) && isInstalled(name, folder);
}

const lossLine = ({ texts, positions, meanDifference, largestDifference }: MergeLoss): string =>
  `Merged and rounded again, it differs from the checkpoint by ${meanDifference.toExponential(1)} nats per token on average, at most ${largestDifference.toExponential(1)}, on ${positions} tokens ${texts === 'recorded' ? 'that the run recorded' : 'sampled from the checkpoint'}.`;

function rewardLine({
  set,
  metric,
  checkpoint,
  exported,
  interval,
  failedRuns,
}: RewardComparison): string {
  const failed = failedRuns === 0 ? '' : `; ${failedRuns} runs failed and count as 0`;
  const range = interval ? ` (${interval.low.toFixed(3)} to ${interval.high.toFixed(3)})` : '';
  return `${set}: ${metric} ${exported.toFixed(3)}${range}, checkpoint ${checkpoint.toFixed(3)}${failed}`;
}

const shareOf = ({ equal, of }: Share): string => `${equal} of ${of}`;

function checkLines(check: CheckResult): readonly string[] {
  const rows = [
    ['rendered prompts equal', shareOf(check.renderedPrompts)],
    ...(check.leftOut > 0 ? [['prompts left out', String(check.leftOut)]] : []),
    ['token ids equal', shareOf(check.tokenIds)],
    [
      `log-probabilities, ${check.positions} positions`,
      `mean difference ${check.meanDifference.toExponential(1)} nats, largest ${check.largestDifference.toExponential(1)}`,
    ],
    ...(check.bestTokens ? [['same best token', shareOf(check.bestTokens)]] : []),
    ['greedy texts equal', shareOf(check.greedyTexts)],
    ['tool calls equal', shareOf(check.toolCalls)],
    ...(check.renderedAgain
      ? [
          [
            'tool calls rendered as written',
            check.renderedAgain.of > 0
              ? shareOf(check.renderedAgain)
              : 'no whole answer to compare',
          ],
        ]
      : []),
    ['speed', `${check.tokensPerSecond.toFixed(1)} tokens/s`],
  ];
  return [
    '',
    `Checkpoint beside ${check.runtime}:`,
    ...alignColumns(rows, '  '),
    ...check.warnings.map((line) => `  Warning: ${line}`),
    ...check.faults.map((line) => `  OUTSIDE THE LIMITS: ${line}`),
    '',
  ];
}
