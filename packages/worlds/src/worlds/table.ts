import type { EnvironmentDefinition } from '@trinity-rft/environment';
import { countdown } from './countdown/definition.js';
import { emailSearch } from './email-search/definition.js';
import { frozenLake } from './frozen-lake/definition.js';
import { household } from './household/definition.js';
import { intercodeSql } from './intercode-sql/definition.js';
import { learnToAsk } from './learn-to-ask/definition.js';
import { retailDesk } from './retail-desk/definition.js';
import { sudoku } from './sudoku/definition.js';
import { toolCall } from './tool-call/definition.js';
import { webSearch } from './web-search/definition.js';
import { webshop } from './webshop/definition.js';

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
