/** Suggests next actions after a run, each with its command. */
import path from 'node:path';
import { asTyped, ownCommand, shellText } from '@trinity-rft/core/support';
import type { Story } from '../interface/types.js';

type Action = Story['actions'][number];
type ActionName = Action['name'];

interface Situation {
  readonly verdict: Story['verdict']['kind'];
  /** Folder of the run. */
  readonly folder: string;
  /** Configuration file of the run; undefined if the run was started from code. */
  readonly configPath: string | undefined;
  /** Mode of the stage; undefined if it is not recorded. */
  readonly mode: string | undefined;
  readonly algorithm: string | undefined;
  /** True if a model behind an API answers, which `trinity serve` does not serve. */
  readonly isExternal: boolean;
  readonly hasCheckpoint: boolean;
  /** True if rollouts are recorded. */
  readonly hasRollouts: boolean;
  readonly hasEvaluationSets: boolean;
  readonly learningRate: number | undefined;
  /** First finding of the diagnosis; undefined if there is none. */
  readonly finding:
    | { readonly name: string; readonly title: string; readonly advice: string }
    | undefined;
}

/** Candidate actions for each verdict, the most recommended action first. */
const plans: Readonly<Record<Situation['verdict'], readonly ActionName[]>> = {
  learned: ['chat', 'export', 'serve', 'doctor'],
  notEvaluated: ['evaluate', 'chat', 'export', 'doctor'],
  notMeasured: ['evaluate', 'chat', 'export', 'doctor'],
  unclear: ['evaluate', 'doctor', 'whatIf'],
  same: ['raise', 'doctor', 'whatIf', 'chat'],
  worse: ['doctor', 'whatIf', 'chat'],
  measured: ['serve', 'doctor'],
  running: ['watch', 'doctor'],
  stopped: ['resume', 'doctor', 'chat'],
  failed: ['resume', 'log'],
};

const mostActions = 3;

/**
 * Returns at most three actions, without those that need a missing checkpoint, configuration or
 * rollout.
 */
export function actionsOf(situation: Situation): readonly Action[] {
  const possible = plans[situation.verdict].flatMap((name) => {
    const action = makers[name](situation);
    return action
      ? [{ name, ...action, command: asTyped(action.command, ownCommand(process.env)) }]
      : [];
  });
  return possible.slice(0, mostActions);
}

type Maker = (situation: Situation) => Omit<Action, 'name'> | undefined;

const ofCheckpoint =
  (make: (model: string) => Omit<Action, 'name'>): Maker =>
  ({ hasCheckpoint, folder }) =>
    hasCheckpoint ? make(shellPath(folder)) : undefined;

const ofConfiguration =
  (make: (file: string, situation: Situation) => Omit<Action, 'name'>): Maker =>
  (situation) =>
    situation.configPath === undefined
      ? undefined
      : make(shellPath(situation.configPath), situation);

const makers: Readonly<Record<ActionName, Maker>> = {
  chat: ofCheckpoint((model) => ({
    title: 'Talk to it',
    why: 'Chat with the trained model and the original model side by side.',
    command: `trinity chat ${model} --compare base`,
  })),
  export: ofCheckpoint((model) => ({
    title: 'Export it',
    why: 'A model for Ollama, checked against the checkpoint; other formats are gguf, transformersjs and hf.',
    command: `trinity export ${model} --to ollama --output exported --check`,
  })),
  serve: ({ configPath, isExternal }) =>
    configPath === undefined || isExternal
      ? undefined
      : {
          title: 'Serve it',
          why: 'An OpenAI API for your agent, without further training.',
          command: `trinity serve ${shellPath(configPath)} --no-train`,
        },
  evaluate: ofConfiguration((file, { hasEvaluationSets }) => ({
    title: 'Evaluate it',
    why: hasEvaluationSets
      ? 'Before and after training, task by task.'
      : 'Add eval_tasksets to the file first: tasks that are not trained on.',
    command: `trinity eval ${file}`,
  })),
  resume: ofConfiguration((file, { verdict }) => ({
    title: verdict === 'failed' ? 'Fix it and resume' : 'Resume it',
    why: `${verdict === 'failed' ? 'Remove the cause above. ' : ''}The same command continues from the last checkpoint, or from the start.`,
    command: `trinity run ${file}`,
  })),
  log: ({ folder }) => ({
    title: 'Read what came before',
    why: 'Steps, and the warnings before the error.',
    command: `trinity log ${shellPath(folder)} --warnings`,
  }),
  // If no other rule of the diagnosis applies, a low learning rate is the most likely cause.
  raise: ({ finding, learningRate, configPath, folder }) =>
    finding?.name !== 'flat-reward' || learningRate === undefined
      ? undefined
      : {
          title: `Raise the learning rate: ${learningRate} \u2192 ${Number((3 * learningRate).toPrecision(2))}`,
          why: 'Set algorithm.optimizer.lr and a new name in the configuration. Nothing else explains it, and then the rate is most often too small.',
          command:
            configPath === undefined
              ? `trinity doctor ${shellPath(folder)}`
              : `trinity run ${shellPath(configPath)}`,
        },
  // With a flat reward, the doctor would repeat the advice of `raise`.
  doctor: ({ folder, finding }) =>
    finding?.name === 'flat-reward'
      ? undefined
      : {
          title: 'Look for causes',
          why: finding?.advice ?? 'Rules over its metrics and rollouts.',
          command: `trinity doctor ${shellPath(folder)}`,
        },
  whatIf: ({ folder, algorithm, hasRollouts }) =>
    hasRollouts
      ? {
          title: 'Try another advantage',
          why: 'On the rollouts that are recorded, without training.',
          command: `trinity what-if ${shellPath(folder)} --advantage ${algorithm === 'rloo' ? 'grpo' : 'rloo'}`,
        }
      : undefined,
  // Only runs that explore and train have a status.
  watch: ({ folder, mode = 'both' }) => ({
    title: 'Watch it',
    ...(mode === 'both'
      ? {
          why: 'State of its processes, and what they wait for.',
          command: `trinity status ${shellPath(folder)}`,
        }
      : { why: 'Its steps and warnings so far.', command: `trinity log ${shellPath(folder)}` }),
  }),
};

/**
 * Quoted path for a shell command: absolute, or relative to the working directory if that is
 * shorter.
 */
export function shellPath(place: string): string {
  const relative = path.relative('.', place);
  return shellText(relative !== '' && relative.length < place.length ? relative : place);
}
