/** The code that sets an installation up: what is answered to a wrong one, by which the page tells
 *  it from other refusals. */
export const WRONG_CODE = 'This code is wrong. The start of the service prints the right one.';
