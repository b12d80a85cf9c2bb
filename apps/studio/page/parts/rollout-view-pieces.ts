/** Splits a model call into messages, reasoning, tool calls and results. */
import { textBlocks, type BlockKind, type TextBlock } from '@trinity-rft/inspect/studio/interface';
import type { ScoredCall, ScoredSegment } from './rollout-view-scores.js';

/** Range of consecutive tokens that belong to the same segment and to the same block. */
export interface Stretch {
  readonly segment: ScoredSegment;
  /** Index of the stretch's first token within the segment. */
  readonly from: number;
  /** Index after the stretch's last token within the segment. */
  readonly to: number;
}

export interface Piece {
  readonly kind: BlockKind;
  /** Role that the template names; undefined if it names none. */
  readonly role: string | undefined;
  /** True if the model sampled at least one token of the piece. */
  readonly sampled: boolean;
  readonly characters: number;
  readonly stretches: readonly Stretch[];
}

/** Text of a token; without a tokenizer, its ID. */
export const tokenText = (segment: ScoredSegment, i: number): string =>
  segment.texts === undefined ? `${segment.ids[i]} ` : (segment.texts[i] ?? '');

export function piecesOf({ segments }: ScoredCall): readonly Piece[] {
  const text = segments
    .map((segment) => segment.ids.map((_, i) => tokenText(segment, i)).join(''))
    .join('');
  const blocks = textBlocks(text);
  const drafts: Draft[] = [];
  let [offset, place] = [0, 0];
  for (const segment of segments)
    for (let i = 0; i < segment.ids.length; i++) {
      // A token belongs to the block in which it begins.
      while (place + 1 < blocks.length && offset >= (blocks[place]?.end ?? 0)) place++;
      offset += tokenText(segment, i).length;
      const block = blocks[place] ?? { kind: 'text', start: 0, end: text.length };
      const draft = drafts.at(-1);
      const stretch = draft?.stretches.at(-1);
      if (!draft || !continues(draft, block, segment))
        drafts.push({ block, stretches: [{ segment, from: i, to: i + 1 }] });
      else if (stretch?.segment === segment) stretch.to = i + 1;
      else draft.stretches.push({ segment, from: i, to: i + 1 });
    }
  return drafts.map(({ block: { kind, role }, stretches }) => ({
    kind,
    role,
    sampled: stretches.some(({ segment }) => segment.sampled),
    characters: charactersOf(stretches),
    stretches,
  }));
}

interface Draft {
  readonly block: TextBlock;
  readonly stretches: { readonly segment: ScoredSegment; readonly from: number; to: number }[];
}

/**
 * Returns true if the segment's tokens in block `next` continue the piece. If the template names no
 * role, context and sampled tokens are separate pieces.
 */
function continues({ block, stretches }: Draft, next: TextBlock, segment: ScoredSegment): boolean {
  const isSame = block === next;
  const isAnonymous = block.role === undefined && block.kind === 'text';
  return isSame && !(isAnonymous && stretches.at(-1)?.segment.sampled !== segment.sampled);
}

const charactersOf = (stretches: readonly Stretch[]): number =>
  stretches.reduce(
    (sum, { segment, from, to }) =>
      sum +
      segment.ids
        .slice(from, to)
        .reduce((all, _, i) => all + tokenText(segment, from + i).length, 0),
    0,
  );
