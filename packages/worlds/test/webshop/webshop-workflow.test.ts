/**
 * A workflow that holds the shop itself: it resets the shop for each task, takes steps, and gets the
 * reward at the end.
 */
import type { Experience, Task } from '@trinity-rft/core';
import {
  defineWorkflow,
  MultiTurnWorkflow,
  scriptedModel,
  type WorkflowContext,
} from '@trinity-rft/workflow';
import { workflowContext } from '@trinity-rft/workflow/internal';
import { createWebShop, type WebShop } from '@trinity-rft/worlds';
import { expect, it } from 'vitest';

const shop: Promise<WebShop> = createWebShop({ numProducts: 80 });

class WebShopWorkflow extends MultiTurnWorkflow {
  static override readonly canReset = true;
  readonly #maxEnvSteps = 15;
  #session = 0;

  constructor(context: WorkflowContext) {
    super(context);
    this.#session = Number(context.task.rawTask['session']);
  }

  override reset(task: Task): void {
    void super.reset(task);
    this.#session = Number(task.rawTask['session']);
  }

  async run(): Promise<readonly Experience[]> {
    const env = await shop;
    let observation = env.reset(this.#session);
    let reward = -0.1;
    for (let round = 0; round < this.#maxEnvSteps; round++) {
      const { responseText } = await this.ask(`Observation: ${observation}`);
      const action = /<action>(.*)<\/action>/.exec(responseText)?.[1] ?? '';
      const step = env.step(action);
      observation = step.observation;
      if (!step.done) continue;
      reward = step.reward;
      break;
    }
    return this.recorded({ reward });
  }
}

const definition = defineWorkflow({ name: 'my_webshop_workflow', workflow: WebShopWorkflow });

/** Buys the first product that the instruction finds in the shop. */
function shopper() {
  return scriptedModel({
    answers: ({ messages }) => {
      const page = JSON.stringify(messages.at(-1)?.content).replaceAll('\\n', '\n');
      const product = /\[button\] (B0\w{8}) \[button_\]/.exec(page)?.[1];
      if (page.includes('[button] Search [button_]'))
        return `<action>search[${page.split('\n')[2]}]</action>`;
      return `I take it. <action>click[${product ?? 'Buy Now'}]</action>`;
    },
  });
}

it('plays a task, and the next one after a reset', async () => {
  const model = shopper();
  const context = (session: number) => workflowContext({ rawTask: { session }, model });
  const workflow = definition.create(context(2));
  const first = (await workflow.run()) as readonly Experience[];
  expect(first).toHaveLength(3);
  expect(Math.min(...first.map(({ reward = 0 }) => reward))).toBeGreaterThan(0);
  expect(model.calls).toHaveLength(3);

  await workflow.reset?.(context(3));
  const second = (await workflow.run()) as readonly Experience[];
  expect(second[0]?.reward).toBeGreaterThan(0);
  const [, , , fourth] = model.calls;
  expect(fourth?.messages).toHaveLength(1);
  expect(fourth?.messages[0]?.content).not.toBe(model.calls[0]?.messages[0]?.content);
});

it('gives -0.1 to a policy that never buys', async () => {
  const model = scriptedModel({ answers: () => 'hm' });
  const workflow = definition.create(workflowContext({ rawTask: { session: 2 }, model }));
  const [experience] = (await workflow.run()) as readonly Experience[];
  expect(experience?.reward).toBe(-0.1);
  expect(model.calls).toHaveLength(15);
});
