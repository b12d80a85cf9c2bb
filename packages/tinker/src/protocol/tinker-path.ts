/**
 * Tinker paths, which identify saved weights: `tinker://MODEL/weights/NAME`,
 * `tinker://MODEL/sampler_weights/NAME`.
 */

export type WeightsKind = 'weights' | 'sampler_weights';

export interface TinkerPath {
  readonly modelId: string;
  readonly kind: WeightsKind;
  readonly name: string;
}

const pattern = /^tinker:\/\/(?<modelId>[^/]+)\/(?<kind>weights|sampler_weights)\/(?<name>[^/]+)$/;

/** Formats a Tinker path. */
export const formatTinkerPath = ({ modelId, kind, name }: TinkerPath): string =>
  `tinker://${modelId}/${kind}/${name}`;

/** Parses a Tinker path. Returns undefined if `text` is not a Tinker path. */
export function parseTinkerPath(text: string): TinkerPath | undefined {
  const { modelId, kind, name } = pattern.exec(text)?.groups ?? {};
  if (modelId === undefined || kind === undefined || name === undefined) return undefined;
  return { modelId, kind: kind as WeightsKind, name };
}
