/**
 * The grader `python`, which calls a function `grade(sample, item)` in a separate process. The
 * process protects against mistakes, but is not a sandbox.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { tmpdir } from 'node:os';
import { describeError } from '@trinity-rft/core';
import { atExit, killGroup, readToEnd } from '@trinity-rft/core/support';
import { graderFault } from './fault.js';
import type { Namespaces } from './template.js';

/** Limits of one call. The defaults for time and memory are those of OpenAI's service. */
export interface PythonLimits {
  /** Python interpreter. @default "python3" */
  readonly program?: string;
  /** Time limit in milliseconds. @default 120000 */
  readonly timeoutMs?: number;
  /**
   * Limit of the address space in MiB. It is ignored on Windows and macOS, which cannot enforce it.
   * @default 2048
   */
  readonly memoryMiB?: number;
}

interface Script {
  readonly name: string;
  readonly source: string;
}

/**
 * Maximum number of bytes that a grader may write to standard output and standard error together.
 */
const mostOutput = 1024 * 1024;

/**
 * Python program that runs the grader's code. The code is the module `grader`, where pickle and
 * type hints look it up. The program redirects what the code prints to standard error, so that
 * standard output contains only the score, and ends without waiting for what the code has started.
 */
const runner = `import json, math, os, sys, types
given = json.load(sys.stdin.buffer)
result = os.dup(1)
os.dup2(2, 1)
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (given["memory"], given["memory"]))
except (ImportError, ValueError, OSError):
    pass
module = sys.modules["grader"] = types.ModuleType("grader")
scope = vars(module)
exec(compile(given["source"], "grader.py", "exec"), scope)
if "grade" not in scope:
    raise NameError("the source defines no function grade(sample, item)")
value = float(scope["grade"](given["sample"], given["item"]))
if not math.isfinite(value):
    raise ValueError(f"grade returned {value}")
os.write(result, json.dumps(value).encode())
os._exit(0)`;

/**
 * Scores an answer with Python code.
 * @throws RewardError if the code raises or exceeds a limit; the reason of `signal` if it aborts
 */
export async function gradeInPython(
  script: Script,
  values: Namespaces,
  limits: PythonLimits,
  signal: AbortSignal,
): Promise<number> {
  signal.throwIfAborted();
  const { program = 'python3', timeoutMs = 120_000, memoryMiB = 2048 } = limits;
  const failed = (problem: string) =>
    graderFault(
      'python_grader_runtime_error',
      `The Python grader "${script.name}" ${problem}`,
      problem,
    );
  const child: ChildProcess = spawn(program, ['-I', '-c', runner], {
    stdio: 'pipe',
    cwd: tmpdir(),
    // Excludes API keys and addresses in the environment of this process.
    env: { PATH: process.env['PATH'], SystemRoot: process.env['SystemRoot'] },
    // A separate process group, so that the grader's child processes end with the grader.
    detached: process.platform !== 'win32',
  });
  const isOver = atExit(() => void killGroup(child, 'SIGKILL'));
  const { promise, resolve, reject } = Promise.withResolvers<number | string>();
  const output = readOutput(child, () => reject(failed(`printed more than ${mostOutput} bytes.`)));
  child.once('error', (cause) => reject(notStarted(program, script, cause)));
  child.once('exit', (code, killer) => {
    stop.removeEventListener('abort', onStop);
    killGroup(child, 'SIGKILL');
    void readToEnd(child).then(() => resolve(code ?? killer ?? -1));
  });
  const deadline = AbortSignal.timeout(timeoutMs);
  const stop = AbortSignal.any([signal, deadline]);
  const onStop = (): void =>
    reject(
      signal.aborted
        ? (signal.reason as Error)
        : failed(`took more than ${timeoutMs / 1000} s and was killed.`),
    );
  stop.addEventListener('abort', onStop, { once: true });
  // The process may end before it has read its input.
  child.stdin?.on('error', () => undefined).end(inputOf(script, values, memoryMiB));
  try {
    const end = await promise;
    const { result, raised } = output();
    if (end === 0 && result !== '') return Number(result);
    throw failed(end === 0 ? 'ended without a result.' : `failed: ${raised || `ended (${end})`}`);
  } finally {
    stop.removeEventListener('abort', onStop);
    killGroup(child, 'SIGKILL');
    isOver();
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe?.destroy();
  }
}

const inputOf = ({ source }: Script, { sample, item }: Namespaces, memoryMiB: number): string =>
  JSON.stringify({
    source,
    item,
    sample: { choices: [], ...sample, output_json: sample.output_json ?? null },
    memory: memoryMiB * 1024 * 1024,
  });

/**
 * Collects standard output and standard error. Calls `onTooMuch` if they exceed {@link mostOutput}
 * bytes.
 * @returns function that returns the standard output, and the exception at the end of standard error
 */
function readOutput(child: ChildProcess, onTooMuch: () => void) {
  const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  let size = 0;
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > mostOutput) onTooMuch();
      else chunks[name].push(chunk);
    });
  return () => ({
    result: Buffer.concat(chunks.stdout).toString(),
    raised: exceptionIn(Buffer.concat(chunks.stderr).toString()),
  });
}

/**
 * Returns the exception at the end of a traceback in one line: its name and at most three lines of
 * its message, or the last line if no name is found.
 */
function exceptionIn(traceback: string): string {
  const lines = traceback
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const named = lines.findLastIndex((line) => /^[\w.<>]+(?:Error|Exception)\b/.test(line));
  return lines.slice(named).slice(0, 3).join(' ');
}

const notStarted = (program: string, { name }: Script, cause: NodeJS.ErrnoException) =>
  graderFault(
    'python_grader_server_error',
    `The Python grader "${name}" needs ${program}, which cannot be started: ${describeError(cause)}.`,
    cause.code ?? 'spawn',
  );
