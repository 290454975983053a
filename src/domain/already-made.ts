/** Under this id there is something already: another run of the same creation made it. */
export class AlreadyMade extends Error {}
