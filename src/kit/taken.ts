/** A drawn memo or slug is taken: draw new ones. */
export class Taken extends Error {}
