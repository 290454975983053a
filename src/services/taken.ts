/** A memo or slug was drawn before: whoever drew it draws new ones. */
export class Taken extends Error {}
