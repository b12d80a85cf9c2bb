/** The gradient norm among the metrics of an update. */

/** SkyRL says `skyrl.ai/grad_norm`. Undefined where the server reports none. */
export const gradNormOf = (metrics: Readonly<Record<string, number>>): number | undefined =>
  Object.entries(metrics).find(([name]) => /(^|[/:])grad_norm$/.test(name))?.[1];

/** SkyRL 0.4 has no gradient clipping, and drops the setting. */
export const ignoresClipping = (metrics: Readonly<Record<string, number>>): boolean =>
  Object.keys(metrics).some((name) => name.startsWith('skyrl.ai/'));
