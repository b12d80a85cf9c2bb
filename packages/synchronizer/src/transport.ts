/** How weights get from trainer to explorer: one verb on each side. */

/** A sync method: `memory` shares the engine's arrays, `checkpoint` goes through a folder. */
export interface WeightTransport {
  /** Trainer side: makes the current weights available as `version`. */
  publish(version: number): Promise<void>;
  /** Explorer side: uses what was published last, which is `version`. */
  adopt(version: number): Promise<void>;
}
