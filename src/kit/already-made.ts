/** Something with this id exists already: another run of the same creation made it. */
export class AlreadyMade extends Error {}
