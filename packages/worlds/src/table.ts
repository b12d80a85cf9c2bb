import type { EnvironmentDefinition } from '@trinity-rft/environment';
import { countdown } from './worlds/countdown/definition.js';
import { emailSearch } from './worlds/email-search/definition.js';
import { frozenLake } from './worlds/frozen-lake/definition.js';
import { household } from './worlds/household/definition.js';
import { intercodeSql } from './worlds/intercode-sql/definition.js';
import { learnToAsk } from './worlds/learn-to-ask/definition.js';
import { retailDesk } from './worlds/retail-desk/definition.js';
import { sudoku } from './worlds/sudoku/definition.js';
import { toolCall } from './worlds/tool-call/definition.js';
import { webSearch } from './worlds/web-search/definition.js';
import { webshop } from './worlds/webshop/definition.js';

/** The environments that `workflow_args.environment` can name without a plugin. */
export const builtInEnvironments: readonly EnvironmentDefinition[] = [
  countdown,
  emailSearch,
  frozenLake,
  household,
  intercodeSql,
  learnToAsk,
  retailDesk,
  sudoku,
  toolCall,
  webSearch,
  webshop,
];
