/** A GPU for the tests: SwiftShader, the software Vulkan driver inside the npm package @sparticuz/chromium. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';

/** Reason why tests with SwiftShader are skipped on this machine; undefined if they run. */
export const noSwiftShader: string | undefined =
  process.platform === 'linux' && process.arch === 'x64'
    ? undefined
    : 'SwiftShader is packed for Linux on x64 only';

/** Environment in which a child process finds SwiftShader and no other GPU. */
export async function swiftShaderEnvironment(): Promise<Record<string, string>> {
  const folder = await unpacked();
  return {
    VK_ICD_FILENAMES: path.join(folder, 'vk_swiftshader_icd.json'),
    LD_LIBRARY_PATH: [folder, process.env['LD_LIBRARY_PATH']].filter(Boolean).join(':'),
  };
}

/** Makes SwiftShader the GPU of this process. Call it in the main thread: threads cannot set the environment. */
export async function useSwiftShader(): Promise<void> {
  const folder = await unpacked();
  process.env['VK_ICD_FILENAMES'] = path.join(folder, 'vk_swiftshader_icd.json');
  // The loader stays in the process, where Dawn finds it by name: LD_LIBRARY_PATH is only read at the start.
  const neverUnload = 0x1000;
  const flags = os.constants.dlopen.RTLD_NOW | neverUnload;
  try {
    process.dlopen({ exports: {} }, path.join(folder, 'libvulkan.so.1'), flags);
  } catch (error) {
    // Node.js has loaded the library, and only reports that it is not an addon.
    if (!String(error).includes('did not self-register')) throw error;
  }
}

/** Folder with the driver and a Vulkan loader, which are unpacked once. */
async function unpacked(): Promise<string> {
  const archive = fileURLToPath(
    new URL('../bin/swiftshader.tar.br', import.meta.resolve('@sparticuz/chromium')),
  );
  const manifest = await readFile(path.join(archive, '../../package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  const cache = path.join(import.meta.dirname, '../../node_modules/.cache/swiftshader');
  const folder = path.join(cache, version);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const draft = await mkdtemp(path.join(cache, 'draft-'));
  const input = brotliDecompressSync(await readFile(archive));
  execFileSync('tar', ['-x', '-C', draft], { input, timeout: 120_000, killSignal: 'SIGKILL' });
  try {
    await rename(draft, folder);
  } catch (error) {
    // Another process has unpacked the folder first.
    await rm(draft, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}
