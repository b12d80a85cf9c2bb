/**
 * A shop that workflows create themselves instead of naming an environment, as Trinity-RFT's
 * workflows do.
 */
import { drawGoal } from './catalogue/goals.js';
import { type OpenShop, openShop } from './open-shop.js';
import { clickablesOf, plainText, richText } from './shop/pages.js';
import type { Goal } from './shop/product.js';
import { isPossible, readShopAction, visitShop } from './shop/session.js';

export interface WebShopOptions {
  /** 'text_rich' marks clickable parts; 'text' is a single line. @default 'text_rich' */
  readonly observationMode?: 'text_rich' | 'text';
  /** Number of products, at least 1, to generate if `dataPath` is not set. @default 1000 */
  readonly numProducts?: number;
  /**
   * Folder with WebShop's files.
   * @default undefined: the products are generated, and scores are not comparable with those of
   * WebShop
   */
  readonly dataPath?: string;
  /** True to use the human-written goals. Only with `dataPath`. @default true */
  readonly humanGoals?: boolean;
}

/**
 * Replacement for WebShop's `WebAgentTextEnv`, with the same methods. Holds one visit at a time.
 */
export interface WebShop {
  /** Text of the current page. */
  readonly observation: string;
  /** Instruction of the current session's customer. */
  readonly instructionText: string;
  /**
   * Starts the visit of a session, and returns the text of its first page.
   * @throws RangeError if WebShop's files have no session with that number
   */
  reset(session: number): string;
  getAvailableActions(): { readonly hasSearchBar: boolean; readonly clickables: readonly string[] };
  /** Executes `search[words]` or `click[name]`. An impossible action has no effect. */
  step(action: string): WebShopStep;
}

export interface WebShopStep {
  readonly observation: string;
  /** Reward of the purchase, from 0 to 1, or 0 before a purchase. */
  readonly reward: number;
  readonly done: boolean;
}

/**
 * Creates the shop, which takes some time to load. Call it once per workflow, and `reset` once per
 * task.
 * @throws RangeError if `numProducts` is not a whole number of at least 1
 */
export async function createWebShop(options: WebShopOptions = {}): Promise<WebShop> {
  const { numProducts = 1000, dataPath, humanGoals = true } = options;
  if (!Number.isInteger(numProducts) || numProducts < 1)
    throw new RangeError(
      `numProducts is ${JSON.stringify(numProducts)}; expected a whole number of at least 1.`,
    );
  const render = options.observationMode === 'text' ? plainText : richText;
  const shop = await openShop({
    productCount: numProducts,
    catalogueSeed: 0,
    dataPath,
    humanGoals,
  });
  let goal = goalOfSession(shop, 0);
  let visit = visitShop(shop, goal);
  return {
    get observation() {
      return render(visit.parts());
    },
    get instructionText() {
      return goal.instruction;
    },
    reset: (session) => {
      goal = goalOfSession(shop, session);
      visit = visitShop(shop, goal);
      return render(visit.parts());
    },
    getAvailableActions: () => ({
      hasSearchBar: visit.hasSearchBar(),
      clickables: clickablesOf(visit.parts()),
    }),
    step: (text) => {
      const action = readShopAction(text);
      const isTaken = action !== undefined && isPossible(visit, action);
      const reward = isTaken ? visit.act(action) : undefined;
      const observation = render(visit.parts());
      return { observation, reward: reward ?? 0, done: reward !== undefined };
    },
  };
}

function goalOfSession({ goals, products }: OpenShop, session: number): Goal {
  if (goals.length === 0) return drawGoal([...products.values()], generatedSize, session);
  const goal = goals[session];
  if (goal === undefined)
    throw new RangeError(`The files have ${goals.length} sessions, none with number ${session}.`);
  return goal;
}

const generatedSize = { attributes: 2, options: 2 };
