/** A random sequence that is the same in every run: uniform in [0, 1), from Lehmer's generator. */
export function sequence(seed = 7): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
