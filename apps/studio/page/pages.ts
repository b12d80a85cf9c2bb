/** The pages, in the order of the navigation. The words of one lie in `words`, under its name. */
import type { ComponentType } from 'preact';
import { Builder } from './pages/builder.js';
import { Compare } from './pages/compare.js';
import { Curves } from './pages/curves.js';
import { Diagnosis } from './pages/diagnosis.js';
import { Playground } from './pages/playground.js';
import { Processes } from './pages/processes.js';
import { Rollouts } from './pages/rollouts.js';
import { Runs } from './pages/runs.js';
import { Tasks } from './pages/tasks.js';
import { WhatIf } from './pages/what-if.js';
import type { PageProps } from './place.js';
import { words as frame } from './words/frame.js';

interface Page {
  readonly name: keyof typeof frame.pages;
  readonly Page: ComponentType<PageProps>;
}

export const pages: readonly [Page, ...Page[]] = [
  { name: 'runs', Page: Runs },
  { name: 'curves', Page: Curves },
  { name: 'compare', Page: Compare },
  { name: 'tasks', Page: Tasks },
  { name: 'rollouts', Page: Rollouts },
  { name: 'diagnosis', Page: Diagnosis },
  { name: 'whatIf', Page: WhatIf },
  { name: 'processes', Page: Processes },
  { name: 'builder', Page: Builder },
  { name: 'playground', Page: Playground },
];
