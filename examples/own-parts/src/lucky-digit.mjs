// A game: the player names a digit, and 7 is lucky.
export const start = () => ({
  observation: '=',
  move: (text) => ({ observation: 'over', reward: Number(text.startsWith('7')), done: true }),
});
