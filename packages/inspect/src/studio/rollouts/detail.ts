/** Complete experience as plain data for the page. */
import type { ExperienceUse } from '@trinity-rft/buffer';
import type { Experience } from '@trinity-rft/core';
import type { RolloutDetail } from '../interface/types.js';
import { headOf, problemOf } from './head.js';
import { advantagesOf } from './store.js';

export function detailOf(
  id: number,
  experience: Experience,
  uses: readonly ExperienceUse[],
): RolloutDetail {
  const { promptLength, temperature, promptText, responseText, spans, metrics, info } = experience;
  return {
    ...headOf(id, experience),
    truncated: experience.truncateStatus,
    problem: problemOf(experience),
    promptLength,
    temperature,
    promptText,
    responseText,
    spans: spans && [...spans],
    uses: uses.map(({ trainStep, dropped, advantage }) => ({ trainStep, dropped, advantage })),
    advantagesOf: advantagesOf(experience, uses).of,
    metrics,
    info,
  };
}
