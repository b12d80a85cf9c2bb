/** Pages in the order of the navigation. Their texts are in `words`, under the page's name. */
import {
  Bot,
  ChartLine,
  CirclePlus,
  Cpu,
  GitCompareArrows,
  LayoutDashboard,
  ListChecks,
  MessagesSquare,
  Rows3,
  Settings2,
  Sparkles,
  Stethoscope,
  type IconNode,
} from 'lucide';
import type { ComponentType } from 'preact';
import { Builder } from './pages/builder.js';
import { Compare } from './pages/compare.js';
import { Configuration } from './pages/configuration.js';
import { Diagnosis } from './pages/diagnosis.js';
import { Metrics } from './pages/metrics.js';
import { Overview } from './pages/overview.js';
import { Playground } from './pages/playground.js';
import { Rollouts } from './pages/rollouts.js';
import { Runs } from './pages/runs.js';
import { Tasks } from './pages/tasks.js';
import { WhatIf } from './pages/what-if.js';
import { Workers } from './pages/workers.js';
import type { PageProps } from './place.js';
import type { words } from './words/frame.js';

export interface Page {
  readonly name: keyof typeof words.pages;
  readonly icon: IconNode;
  readonly Page: ComponentType<PageProps>;
}

/** Pages that the header links to. */
export const mainPages: readonly [Page, ...Page[]] = [
  { name: 'runs', icon: Rows3, Page: Runs },
  { name: 'compare', icon: GitCompareArrows, Page: Compare },
  { name: 'playground', icon: MessagesSquare, Page: Playground },
  { name: 'builder', icon: CirclePlus, Page: Builder },
];

/** Tabs of a run. */
export const runPages: readonly Page[] = [
  { name: 'overview', icon: LayoutDashboard, Page: Overview },
  { name: 'metrics', icon: ChartLine, Page: Metrics },
  { name: 'rollouts', icon: Bot, Page: Rollouts },
  { name: 'tasks', icon: ListChecks, Page: Tasks },
  { name: 'diagnosis', icon: Stethoscope, Page: Diagnosis },
  { name: 'whatIf', icon: Sparkles, Page: WhatIf },
  { name: 'configuration', icon: Settings2, Page: Configuration },
  { name: 'workers', icon: Cpu, Page: Workers },
];
