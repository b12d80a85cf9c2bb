/**
 * `pnpm bench texts [LENGTH] [NAME...]`: runs every parser, template filter and method, reward and
 * pre-tokenizer on adversarial texts of 200,000 characters. Prints a line per function: its longest
 * time, and the text. Exits with 1 if a function takes a second or more.
 */
import { adversarial, slowest, textFunctions } from './texts/functions.ts';

const [length = '200000', ...names] = process.argv.slice(2);
const texts = adversarial(Number(length));
for (const [name, read] of Object.entries(textFunctions)) {
  if (names.length > 0 && !names.some((each) => name.includes(each))) continue;
  const { ms, text } = await slowest(read, texts);
  const shown = `${JSON.stringify(text.slice(0, 24))}...${JSON.stringify(text.slice(-2))}`;
  process.stdout.write(`${name.padEnd(34)} ${ms.toFixed(0).padStart(6)} ms  ${shown}\n`);
  if (ms >= 1_000) process.exitCode = 1;
}
