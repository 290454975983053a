/** How many requests may be sent: asked before each one. */
export interface RequestBudget {
  /** Takes `count` requests at once or none. @returns milliseconds to wait before asking again; 0 when they are granted. */
  take(count: number): Promise<number>;
}
