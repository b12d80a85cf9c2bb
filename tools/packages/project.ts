/** Creates, installs and trains a project with the commands that a user would type. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { delimiter } from 'node:path';

/** Timeout in ms, longer than any command takes on a slow machine with an empty cache. */
const patienceMs = 600_000;

export interface Terminal {
  /** Runs a command to its end and returns what it printed. */
  run(command: string, env?: Environment): Promise<string>;
  /** Starts a command, calls `use` with its output, and then stops the command as Ctrl-C does. */
  during<T>(command: string, use: (printed: Printed) => Promise<T>, env?: Environment): Promise<T>;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Resolves with the match as soon as the pattern has been printed. */
type Printed = (pattern: RegExp) => Promise<RegExpExecArray>;

/** A terminal in a folder. `path` goes in front of PATH. */
export function openTerminal(cwd: string, path: string, ownEnv: Environment): Terminal {
  // Removes the user agent of the pnpm that runs this test, because it would be taken for the project's
  // package manager.
  const { NODE_OPTIONS: _options, npm_config_user_agent: _agent, ...inherited } = process.env;
  const environment = (env: Environment): NodeJS.ProcessEnv => ({
    ...inherited,
    ...ownEnv,
    ...env,
    PATH: `${path}${delimiter}${process.env['PATH']}`,
    NO_COLOR: '1',
  });
  const start = (command: string, env: Environment): Started => {
    // Runs without a shell, which would drop variables such as npm_config_@scope:registry.
    const [program = '', ...args] = wordsOf(command);
    // Starts a process group, so that a signal reaches the commands behind npm as Ctrl-C does.
    const options = { cwd, env: environment(env), detached: true };
    return collect(command, spawn(program, args, options));
  };
  return {
    async run(command, env = {}) {
      const started = start(command, env);
      const code = await started.ended;
      if (code !== 0) throw new Error(`"${command}" ended with ${code}:\n${started.text()}`);
      return started.text();
    },
    async during(command, use, env = {}) {
      const started = start(command, env);
      try {
        return await use((pattern) => started.printed(pattern));
      } finally {
        started.interrupt();
        await started.ended;
      }
    },
  };
}

const wordsOf = (command: string): readonly string[] =>
  [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');

interface Started {
  text(): string;
  /** Resolves with the exit code or signal. */
  readonly ended: Promise<number | string>;
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  interrupt(): void;
}

function collect(command: string, child: ChildProcess): Started {
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (part: string) => (text += part));
  const signal = (name: NodeJS.Signals): void => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, name);
  };
  const deadline = setTimeout(() => signal('SIGKILL'), patienceMs);
  const ended = once(child, 'close').then(([code, name]) => {
    clearTimeout(deadline);
    return (code ?? name) as number | string;
  });
  return {
    text: () => text,
    ended,
    async printed(pattern) {
      const over = ended.then((code) => {
        throw new Error(`"${command}" ended with ${code} before it printed ${pattern}:\n${text}`);
      });
      for (;;) {
        const match = pattern.exec(text);
        if (match !== null) return match;
        await Promise.race([once(child.stdout!, 'data'), once(child.stderr!, 'data'), over]);
      }
    },
    interrupt: () => signal('SIGINT'),
  };
}
