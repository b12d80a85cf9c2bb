import { loadModel } from './src/index.js';
import { languageModel } from './src/ai-sdk.js';
import { generateText, streamText, tool, stepCountIs } from 'ai';
import { z } from 'zod';
const before = process.memoryUsage().rss;
const t0 = performance.now();
const model = await loadModel(process.argv[2]!, { seed: 1, gpu: false, chat: { tool_call_parser: 'hermes' } });
console.log(model.name, model.runtime, model.place.choice, model.maxModelLen, 'loaded ms', performance.now() - t0);
console.log(await model.chat([{ role: 'user', content: '12+30' }], { temperature: 0 }));
for await (const part of model.stream([{ role: 'user', content: '85*11' }], { temperature: 0 })) console.log(part);
console.log(model.render([{ role: 'user', content: '12+30' }]));
const { ids } = model.render([{ role: 'user', content: '12+30' }]);
console.log(await model.score(ids));
const calc = tool({ description: 'x', inputSchema: z.object({ expression: z.string() }), execute: async ({ expression }) => String(eval(expression)) });
try {
const r = await generateText({ model: languageModel(model), prompt: '85*11', tools: { calculator: calc }, temperature: 0, stopWhen: stepCountIs(3) });
console.log(r.text, r.steps.map((s) => [s.text, s.toolCalls.map((c) => c.input), s.toolResults.map((c) => c.output)]));
const s = streamText({ model: languageModel(model), prompt: '85*11', tools: { calculator: calc }, temperature: 0 });
for await (const p of s.fullStream) console.log(JSON.stringify(p).slice(0, 150));
} catch (e) { console.log(e); }
console.log('rss MB', (process.memoryUsage().rss - before) / 1e6);
await model.close();
