/** A drawn memo or slug exists already: draw new ones. */
export class Taken extends Error {}
