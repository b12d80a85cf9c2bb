/** Words of the playground. */
export const words = {
  about:
    'Compare checkpoints on the same prompt. A model is loaded with its first question and unloaded after five minutes without one. Checkpoints of the chosen runs come first.',
  pane: (at: number) => `Model ${at}`,
  noModel: 'no model',
  aProduct: 'a product behind trinity serve',
  system: 'System message',
  temperature: 'Temperature',
  maxTokens: 'Max tokens',
  seed: 'Seed',
  message: 'Message (Enter sends, Shift+Enter starts a new line)',
  send: 'Send',
  stop: 'Stop',
  clear: 'New conversation',
  waits: (what: string) => `Waiting for ${what} ...`,
  cut: 'Cut: the answer reached max tokens or the context length.',
  prompt: (tokens: number) => `Prompt: ${tokens} ${tokens === 1 ? 'token' : 'tokens'}`,
  template: 'The chat template',
  tokens: 'The answer, token by token',
  legend:
    'Green: the model was sure of the token. Red: it was unlikely. A token shows its alternatives.',
  alternatives: (at: number, text: string, chance: string) =>
    `Token ${at}, ${text}: ${chance}. Most likely there:`,
  token: 'Token',
  probability: 'Probability',
  product: 'Product',
  url: 'Address',
  apiKey: 'Key',
  good: 'Good answer',
  bad: 'Bad answer',
  given: (reward: number) => `Reward ${reward} given.`,
  commit: 'Train on the feedback',
  committing: 'Waiting for the product ...',
  committed: (calls: number, experiences: number) =>
    `${experiences} ${experiences === 1 ? 'experience' : 'experiences'} of ${calls} ${calls === 1 ? 'answer' : 'answers'} became training data.`,
} as const;
