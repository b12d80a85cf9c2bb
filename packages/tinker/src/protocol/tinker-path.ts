/**
 * Addresses of saved weights: `tinker://MODEL/weights/NAME`, `tinker://MODEL/sampler_weights/NAME`.
 */

export type WeightsKind = 'weights' | 'sampler_weights';

export interface TinkerPath {
  readonly modelId: string;
  readonly kind: WeightsKind;
  readonly name: string;
}

const pattern = /^tinker:\/\/(?<modelId>[^/]+)\/(?<kind>weights|sampler_weights)\/(?<name>[^/]+)$/;

/** Formats an address of saved weights. */
export const formatTinkerPath = ({ modelId, kind, name }: TinkerPath): string =>
  `tinker://${modelId}/${kind}/${name}`;

/** Parses an address of saved weights. Returns undefined if `text` is not such an address. */
export function parseTinkerPath(text: string): TinkerPath | undefined {
  const { modelId, kind, name } = pattern.exec(text)?.groups ?? {};
  if (modelId === undefined || kind === undefined || name === undefined) return undefined;
  return { modelId, kind: kind as WeightsKind, name };
}
